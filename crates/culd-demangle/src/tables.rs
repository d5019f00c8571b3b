//! The codes of the mangling and the words that nvlink prints for them.

/// Builtin types of one letter.
pub(crate) const BUILTINS: &[(u8, &str)] = &[
    (b'v', "void"),
    (b'w', "wchar_t"),
    (b'b', "bool"),
    (b'c', "char"),
    (b'a', "signed char"),
    (b'h', "unsigned char"),
    (b's', "short"),
    (b't', "unsigned short"),
    (b'i', "int"),
    (b'j', "unsigned int"),
    (b'l', "long"),
    (b'm', "unsigned long"),
    (b'x', "long long"),
    (b'y', "unsigned long long"),
    (b'n', "__int128"),
    (b'o', "unsigned __int128"),
    (b'f', "float"),
    (b'd', "double"),
    (b'e', "long double"),
    (b'g', "__float128"),
];

/// Builtin types after a `D`.
pub(crate) const BUILTINS_D: &[(u8, &str)] = &[
    (b'a', "auto"),
    (b'c', "decltype(auto)"),
    (b'i', "char32_t"),
    (b's', "char16_t"),
    (b'u', "char8_t"),
    (b'n', "std::nullptr_t"),
    (b'h', "__fp16"),
    (b'N', "__nullptr"),
];

/// The floating-point types after `DF`, with all that follows it.
pub(crate) const BUILTINS_DF: &[(&[u8], &str)] = &[
    (b"16b", "std::bfloat16_t"),
    (b"16_", "_Float16"),
    (b"32_", "_Float32"),
    (b"64_", "_Float64"),
    (b"128_", "_Float128"),
    (b"32x", "_Float32x"),
    (b"64x", "_Float64x"),
];

/// Names after an `S`: the text, and what a constructor is called.
pub(crate) const STANDARD: &[(u8, &str, &str)] = &[
    (b'a', "std::allocator", "allocator"),
    (b'b', "std::basic_string", "basic_string"),
    (
        b's',
        "std::basic_string<char, std::char_traits<char>, std::allocator<char>>",
        "basic_string",
    ),
    (b'i', "std::basic_istream<char, std::char_traits<char>>", "basic_istream"),
    (b'o', "std::basic_ostream<char, std::char_traits<char>>", "basic_ostream"),
    (b'd', "std::basic_iostream<char, std::char_traits<char>>", "basic_iostream"),
];

/// What an operator's code may represent besides a function's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// An expression with the operator before its operand.
    Unary,
    /// An expression with the operator between its operands; also a fold.
    Binary,
    /// No expression that the operator's text is enough for.
    Name,
    /// As [`Role::Name`]; a space follows the text in a name.
    SpacedName,
}

/// An operator: its code, its text and its role.
pub(crate) struct Operator {
    pub(crate) code: [u8; 2],
    pub(crate) text: &'static str,
    pub(crate) role: Role,
}

const fn op(code: [u8; 2], text: &'static str, role: Role) -> Operator {
    Operator { code, text, role }
}

/// All operators. Those of expressions (`sz`, `cc`, ...) are accepted as function names too.
pub(crate) const OPERATORS: &[Operator] = &[
    op(*b"ps", "+", Role::Unary),
    op(*b"ng", "-", Role::Unary),
    op(*b"ad", "&", Role::Unary),
    op(*b"de", "*", Role::Unary),
    op(*b"co", "~", Role::Unary),
    op(*b"nt", "!", Role::Unary),
    op(*b"aw", "co_await", Role::Unary),
    op(*b"pl", "+", Role::Binary),
    op(*b"mi", "-", Role::Binary),
    op(*b"ml", "*", Role::Binary),
    op(*b"dv", "/", Role::Binary),
    op(*b"rm", "%", Role::Binary),
    op(*b"an", "&", Role::Binary),
    op(*b"or", "|", Role::Binary),
    op(*b"eo", "^", Role::Binary),
    op(*b"aS", "=", Role::Binary),
    op(*b"pL", "+=", Role::Binary),
    op(*b"mI", "-=", Role::Binary),
    op(*b"mL", "*=", Role::Binary),
    op(*b"dV", "/=", Role::Binary),
    op(*b"rM", "%=", Role::Binary),
    op(*b"aN", "&=", Role::Binary),
    op(*b"oR", "|=", Role::Binary),
    op(*b"eO", "^=", Role::Binary),
    op(*b"ls", "<<", Role::Binary),
    op(*b"rs", ">>", Role::Binary),
    op(*b"lS", "<<=", Role::Binary),
    op(*b"rS", ">>=", Role::Binary),
    op(*b"eq", "==", Role::Binary),
    op(*b"ne", "!=", Role::Binary),
    op(*b"lt", "<", Role::Binary),
    op(*b"gt", ">", Role::Binary),
    op(*b"le", "<=", Role::Binary),
    op(*b"ge", ">=", Role::Binary),
    op(*b"ss", "<=>", Role::Binary),
    op(*b"aa", "&&", Role::Binary),
    op(*b"oo", "||", Role::Binary),
    op(*b"cm", ",", Role::Binary),
    op(*b"pm", "->*", Role::Binary),
    op(*b"ds", ".*", Role::Binary),
    op(*b"pp", "++", Role::Name),
    op(*b"mm", "--", Role::Name),
    op(*b"pt", "->", Role::Name),
    op(*b"cl", "()", Role::Name),
    op(*b"ix", "[]", Role::Name),
    op(*b"qu", "?", Role::Name),
    op(*b"at", "alignof()", Role::Name),
    op(*b"az", "alignof()", Role::Name),
    op(*b"cc", "const_cast", Role::Name),
    op(*b"dc", "dynamic_cast", Role::Name),
    op(*b"rc", "reinterpret_cast", Role::Name),
    op(*b"sc", "static_cast", Role::Name),
    op(*b"nx", "noexcept()", Role::Name),
    op(*b"st", "sizeof()", Role::Name),
    op(*b"sz", "sizeof()", Role::Name),
    op(*b"te", "typeid()", Role::Name),
    op(*b"ti", "typeid()", Role::Name),
    op(*b"tr", "throw", Role::Name),
    op(*b"tw", "throw", Role::SpacedName),
    op(*b"nw", "new", Role::SpacedName),
    op(*b"na", "new[]", Role::SpacedName),
    op(*b"dl", "delete", Role::SpacedName),
    op(*b"da", "delete[]", Role::SpacedName),
];

/// The operator with this code.
pub(crate) fn operator(code: [u8; 2]) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.code == code)
}

/// A step in reading and printing an expression.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// Prints this.
    Text(&'static str),
    /// Reads an expression.
    Expr,
    /// Reads a type.
    Type,
    /// Reads expressions up to an `E`, printed with commas.
    List,
}

use Part::{Expr, List, Text, Type};

/// Expressions that are their code and then these parts. No parentheses are added for precedence.
pub(crate) const EXPRESSIONS: &[([u8; 2], &[Part])] = &[
    (*b"ix", &[Expr, Text("["), Expr, Text("]")]),
    (*b"qu", &[Expr, Text("?"), Expr, Text(":"), Expr]),
    (*b"cl", &[Expr, Text("("), List, Text(")")]),
    (*b"tl", &[Type, Text("{"), List, Text("}")]),
    (*b"il", &[Text("{"), List, Text("}")]),
    (*b"dc", &[Text("dynamic_cast<"), Type, Text(">("), Expr, Text(")")]),
    (*b"sc", &[Text("static_cast<"), Type, Text(">("), Expr, Text(")")]),
    (*b"cc", &[Text("const_cast<"), Type, Text(">("), Expr, Text(")")]),
    (*b"rc", &[Text("reinterpret_cast<"), Type, Text(">("), Expr, Text(")")]),
    (*b"ti", &[Text("typeid("), Type, Text(")")]),
    (*b"te", &[Text("typeid("), Expr, Text(")")]),
    (*b"st", &[Text("sizeof("), Type, Text(")")]),
    (*b"sz", &[Text("sizeof("), Expr, Text(")")]),
    (*b"at", &[Text("alignof("), Type, Text(")")]),
    (*b"az", &[Text("alignof("), Expr, Text(")")]),
    (*b"nx", &[Text("noexcept("), Expr, Text(")")]),
    (*b"sp", &[Expr, Text("...")]),
    (*b"tw", &[Text("throw "), Expr]),
    (*b"tr", &[Text("throw")]),
    (*b"dl", &[Text("delete "), Expr]),
    (*b"da", &[Text("delete[] "), Expr]),
];

/// The parts of the expression with this code.
pub(crate) fn expression(code: [u8; 2]) -> Option<&'static [Part]> {
    EXPRESSIONS
        .iter()
        .find(|(candidate, _)| *candidate == code)
        .map(|&(_, parts)| parts)
}

/// Constructors: the character after the `C`, and what is printed at the very end.
pub(crate) const CONSTRUCTORS: &[(u8, &str)] = &[
    (b'1', ""),
    (b'2', " [subobject]"),
    (b'3', " [allocating]"),
    (b'8', " [static]"),
    (b'9', " [delegation]"),
];

/// Inheriting constructors: the character after the `CI`, and what is printed at the very end.
pub(crate) const INHERITING: &[(u8, &str)] = &[(b'1', " [complete inheriting]"), (b'2', " [base inheriting]")];

/// Destructors: the character after the `D`, the mark before the name, and what is printed at the very end.
pub(crate) const DESTRUCTORS: &[(u8, &str, &str)] = &[
    (b'0', "~", " [deleting]"),
    (b'1', "~", ""),
    (b'2', "~", " [subobject]"),
    (b'7', "!", ""),
    (b'9', "~", " [delegation]"),
];

/// What follows the code of a special name.
#[derive(Clone, Copy)]
pub(crate) enum Subject {
    Type,
    Name,
    TemplateArgument,
    /// This many call offsets, then an encoding.
    Thunk(usize),
}

/// Special names: the code, the text before the subject, the subject.
/// The code of a thunk with one offset is a `T`: its second letter belongs to the offset.
pub(crate) const SPECIALS: &[(&[u8], &str, Subject)] = &[
    (b"TV", "Virtual function table for ", Subject::Type),
    (b"TT", "Virtual table table for ", Subject::Type),
    (b"TI", "Typeinfo for ", Subject::Type),
    (b"TS", "Typeinfo name for ", Subject::Type),
    (b"TH", "Thread-local initialization routine for ", Subject::Name),
    (b"TW", "Thread-local wrapper routine for ", Subject::Name),
    (b"GV", "Initialization guard variable for ", Subject::Name),
    (b"TA", "template parameter object for ", Subject::TemplateArgument),
    (b"Tc", "Covariant thunk for ", Subject::Thunk(2)),
    (b"T", "Thunk for ", Subject::Thunk(1)),
];

/// The entry of a table of `(code, text)`.
pub(crate) fn find<T: Copy>(table: &[(u8, T)], code: u8) -> Option<T> {
    table.iter().find(|(candidate, _)| *candidate == code).map(|&(_, entry)| entry)
}
