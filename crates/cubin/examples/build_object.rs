//! Makes a relocatable object for sm_80 from nothing: `build_object [FILE]` (default: built.cubin).
//!
//! The object has a device function `triple`, a kernel `scale` that calls it, a kernel `count` and the variable `counter` that it adds to:
//!
//! ```cuda
//! __device__ unsigned counter;
//! __device__ unsigned triple(unsigned a) { return a * 3; }
//! __global__ void scale(unsigned *out) { out[threadIdx.x] = triple(threadIdx.x); }
//! __global__ void count(unsigned *out) { *out = atomicAdd(&counter, 1); }
//! ```
//!
//! Link it with `culd -arch=sm_80 built.cubin -o linked.cubin`, or with nvlink.

use cubin::build::{Attribute, Binding, BuildError, Form, FunctionCode, FunctionId, ObjectBuilder, Resources, SectionId, Target};
use cubin::nvinfo::Param;

/// An instruction of 128 bits, low half first.
type Instruction = [u64; 2];

const NOP: Instruction = [0x0000000000007918, 0x000fc00000000000];
/// Branch to itself, which ends every function.
const TRAP: Instruction = [0xfffffff000007947, 0x000fc0000383ffff];
const EXIT: Instruction = [0x000000000000794d, 0x000fea0003800000];

/// R4 = R4 * 3; return to R20.
const TRIPLE: [Instruction; 3] = [
    [0x0000000304047824, 0x000fe200078e02ff], // IMAD R4, R4, 0x3, RZ
    [0x0000000014007950, 0x000fec0003e00000], // RET.REL.NODEC R20
    TRAP,
];

const SCALE: [Instruction; 11] = [
    [0x00000a0000017a02, 0x000fe40000000f00], // MOV R1, c[0x0][0x28]
    [0x0000000000047919, 0x000e220000002100], // S2R R4, SR_TID.X
    [0x00000004ff117435, 0x000fe200000001ff], // HFMA2 R17 = 4
    [0x0000460000247ab9, 0x000fd20000000a00], // ULDC.64 UR36, c[0x0][0x118]
    [0x0000580004107625, 0x001fc800078e0011], // IMAD.WIDE.U32 R16, R4, R17, c[0x0][0x160]
    [0x0000000000147802, 0x000fe40000000f00], // MOV R20, low half of the return address
    [0x0000000000157802, 0x000fc80000000f00], // MOV R21, high half of the return address
    [0x0000000000007943, 0x000fea0003c00000], // CALL.ABS.NOINC triple
    [0x0000000410007986, 0x000fe2000c101924], // STG.E [R16.64], R4
    EXIT,
    TRAP,
];

const COUNT: [Instruction; 22] = [
    [0x00000a0000017a02, 0x000fe40000000f00], // MOV R1, c[0x0][0x28]
    [0x0000000000037919, 0x000e220000000000], // S2R R3, SR_LANEID
    [0x0000000000067886, 0x000fe400038e0100], // VOTEU.ANY UR6, UPT, PT
    [0x0000000600007d00, 0x000e2200080e0000], // UFLO.U32 R0, UR6
    [0x0000000000057882, 0x000fe40000000000], // UMOV UR5, high half of counter's address
    [0x0000000000047882, 0x000fe40000000000], // UMOV UR4, low half of counter's address
    [0x00000004ff027e24, 0x000fc6000f8e00ff],
    [0x0000000600097d09, 0x000e620008000000], // UPOPC R9, UR6
    [0x000000030000720c, 0x001fe40003f02070],
    [0x0000000500037c02, 0x000fe20008000f00],
    [0x0000460000047ab9, 0x000fd40000000a00],
    [0x00000009020309a8, 0x002ea200081ee1c4], // ATOMG.E.ADD R3, [R2.64], R9
    [0x0000590000057a02, 0x000fc60000000f00],
    [0x0000000000047919, 0x000e240000003900],
    [0x0000000604067c12, 0x001fe2000f8ec0ff],
    [0x00005800ff047624, 0x000fca00078e00ff],
    [0x0000000600067309, 0x000e220000000000],
    [0x00001f0003077589, 0x004e2400000e0000], // SHFL.IDX R7, R3, R0, 0x1f
    [0x0000000107077824, 0x001fca00078e0206],
    [0x0000000704007986, 0x000fe2000c101904], // STG.E [R4.64], R7
    EXIT,
    TRAP,
];

// Relocation types.
const ABS32_LO_32: u32 = 0x38;
const ABS32_HI_32: u32 = 0x39;
const ABS47_34: u32 = 0x3a;

// Attributes.
const PARAM_CBANK: u8 = 0x0a;
const KPARAM_INFO: u8 = 0x17;
const CBANK_PARAM_SIZE: u8 = 0x19;
const MAXREG_COUNT: u8 = 0x1b;
const EXIT_INSTR_OFFSETS: u8 = 0x1c;
const INT_WARP_WIDE_INSTR_OFFSETS: u8 = 0x31;
const SW2861232_WAR: u8 = 0x35;
const CUDA_API_VERSION: u8 = 0x37;

/// Bytes of instructions, filled up with NOP as ptxas does: to a multiple of 128 bytes and 128 bytes more, since the hardware fetches ahead.
fn assemble(list: &[Instruction]) -> Vec<u8> {
    let padding = list.len().next_multiple_of(8) + 8 - list.len();
    let all = list.iter().chain(std::iter::repeat_n(&NOP, padding));
    all.flatten().flat_map(|half| half.to_le_bytes()).collect()
}

/// The object.
pub fn build() -> Result<Vec<u8>, BuildError> {
    let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;

    // A kernel that adds to a variable: two relocations put the variable's address into the code.
    let count = object.declare_kernel(b"count")?;
    let text = object.define(count, FunctionCode::new(assemble(&COUNT), 12))?;
    let counter = object.add_global(b"counter", Binding::Global, 4, 4)?;
    object.relocate(text, 0x40, ABS32_HI_32, counter, None)?;
    object.relocate(text, 0x50, ABS32_LO_32, counter, None)?;
    kernel_attributes(&mut object, count, 0x140)?;
    object.function_attribute(count, Attribute::words(INT_WARP_WIDE_INSTR_OFFSETS, &[0x20, 0x110])?)?;

    // A function that other objects may call.
    let triple = object.declare_function(b"triple", Binding::Global)?;
    object.define(triple, FunctionCode::new(assemble(&TRIPLE), 24))?;
    object.function_attribute(triple, Attribute::words(CUDA_API_VERSION, &[130])?)?;
    object.function_attribute(triple, Attribute::flag(SW2861232_WAR))?;
    // One 32-bit result, one 32-bit parameter.
    let prototype = object.prototype(b"#ii")?;
    object.set_prototype(triple, prototype)?;

    // A kernel that calls it: the return address, then the target of the call.
    let scale = object.declare_kernel(b"scale")?;
    let text = object.define(scale, FunctionCode::new(assemble(&SCALE), 24))?;
    let this = object.function_symbol(scale)?;
    object.relocate(text, 0x50, ABS32_LO_32, this, Some(0x80))?;
    object.relocate(text, 0x60, ABS32_HI_32, this, Some(0x80))?;
    object.relocate(text, 0x70, ABS47_34, object.function_symbol(triple)?, None)?;
    object.add_call(scale, triple)?;
    kernel_attributes(&mut object, scale, 0x90)?;

    for (function, registers) in [(count, 12), (triple, 24), (scale, 24)] {
        object.set_resources(
            function,
            Resources {
                registers,
                ..Resources::default()
            },
        )?;
    }
    object.add_debug_frame()?;
    object.finish()
}

/// Attributes that the driver needs of a kernel with one pointer as parameter.
fn kernel_attributes(object: &mut ObjectBuilder, kernel: FunctionId, exit: u32) -> Result<SectionId, BuildError> {
    const SIZE: u16 = 8;
    let base = object.target().parameter_base();
    let bank = object.add_parameters(kernel, SIZE)?;
    let symbol = object.section_symbol(bank)?;
    let place = [base.to_le_bytes(), SIZE.to_le_bytes()].concat();
    let pointer = Param {
        index: 0,
        ordinal: 0,
        offset: 0,
        log_alignment: 0,
        space: 0,
        bank: 31,
        in_bank: true,
        size: SIZE,
    };
    object.function_attribute(kernel, Attribute::words(CUDA_API_VERSION, &[130])?)?;
    object.function_attribute(kernel, Attribute::flag(SW2861232_WAR))?;
    object.function_attribute(kernel, Attribute::symbol_and_bytes(PARAM_CBANK, symbol, &place)?)?;
    object.function_attribute(kernel, Attribute::half(CBANK_PARAM_SIZE, SIZE))?;
    object.function_attribute(kernel, Attribute::sized(KPARAM_INFO, pointer.bytes().to_vec())?)?;
    object.function_attribute(kernel, Attribute::half(MAXREG_COUNT, 255))?;
    object.function_attribute(kernel, Attribute::words(EXIT_INSTR_OFFSETS, &[exit])?)?;
    Ok(bank)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "built.cubin".into());
    let bytes = build()?;
    std::fs::write(&path, &bytes)?;
    println!("{}: {} bytes", path.to_string_lossy(), bytes.len());
    Ok(())
}
