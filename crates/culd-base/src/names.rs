//! Stable names of message codes.

/// Gives an enum of message codes a stable name for each variant: `name(&self)` and the list `NAMES`.
///
/// The names are part of the JSON report. They do not follow from the variants, so that renaming a variant does not change them. Variants
/// after `else` bring a name of their own.
#[macro_export]
macro_rules! code_names {
    ($type:ident { $($variant:ident => $name:literal,)* } $(else { $($pattern:pat => $value:expr,)* })?) => {
        impl $type {
            /// Every name of a variant, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The stable name of this code in the JSON report.
            pub fn name(&self) -> &'static str {
                match self {
                    $($type::$variant { .. } => $name,)*
                    $($($pattern => $value,)*)?
                }
            }
        }
    };
}
