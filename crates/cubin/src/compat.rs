//! `.nv.compat`: what the code needs from the device and the driver.
//!
//! The section has the record form of `.nv.info`; [`records`] reads it, [`Record::write`] writes it. Only the attribute codes differ.

pub use crate::nvinfo::{Record, Records, records};

/// Target has features of one architecture only; always the first record of a linked file.
pub const ACCELERATOR_TARGET: u8 = 9;
/// Instruction set class.
pub const ISA_CLASS: u8 = 2;
/// Tensor map instructions.
pub const TENSORMAP_V1: u8 = 3;
/// Tensor core instructions of the fifth generation.
pub const TCGEN05_MMA: u8 = 5;
/// The driver may finalize the code again.
pub const OPPORTUNISTIC_FINALIZATION: u8 = 6;
/// Version of the Mercury instruction set.
pub const MERCURY_ISA_VERSION: u8 = 7;
/// Patch level of the Mercury instruction set.
pub const MERCURY_ISA_PATCH: u8 = 8;
/// Version of the Mercury instruction set; from 13.3 on read before [`MERCURY_ISA_VERSION`].
pub const INSTRUCTION_SET: u8 = 13;
/// Devices that the code can be turned into quickly (8 bytes, a mask in the first word).
pub const FASTPATH_FINALIZE: u8 = 11;

static NAMES: [Option<&str>; 16] = [
    Some("EICOMPAT_ATTR_ERROR"),
    Some("EICOMPAT_ATTR_PAD"),
    Some("EICOMPAT_ATTR_ISA_CLASS"),
    Some("EICOMPAT_ATTR_INST_TENSORMAP_V1"),
    Some("EICOMPAT_ATTR_INST_TCGEN05_MMA_DEPRECATED"),
    Some("EICOMPAT_ATTR_INST_TCGEN05_MMA"),
    Some("EICOMPAT_ATTR_ENABLE_OPPORTUNISTIC_FINALIZATION"),
    Some("EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION"),
    Some("EICOMPAT_ATTR_MERCURY_ISA_PATCH_VERSION"),
    Some("EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET"),
    Some("EICOMPAT_ATTR_CUDA_DRIVER_VERSION"),
    Some("EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE"),
    Some("EICOMPAT_ATTR_CUDA_INTERNAL_TARGET"),
    None,
    Some("EICOMPAT_ATTR_FINALIZER_VERSION"),
    Some("EICOMPAT_ATTR_MIN_FINALIZER_VERSION_FOR_MVC"),
];

/// Name of an attribute.
pub fn attribute_name(code: u8) -> Option<&'static str> {
    NAMES.get(usize::from(code)).copied().flatten()
}

/// Name of a device bit of [`FASTPATH_FINALIZE`], lowest bit is number 0.
pub fn fastpath_device(bit: u32) -> Option<&'static str> {
    Some(match bit {
        0 => "sm_100",
        1 => "sm_110",
        3 => "sm_103",
        4 => "sm_120",
        6 => "sm_121",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    #[test]
    fn a_linked_file() {
        let bytes = [
            2, 9, 0, 0, 2, 2, 1, 0, 2, 5, 5, 0, 3, 7, 1, 1, 2, 3, 0, 0, 2, 6, 1, 0, 4, 11, 8, 0, 0x50, 0, 0, 0, 0, 0, 0, 0,
        ];
        let list: Vec<_> = records(&bytes).collect::<Result<_, _>>().unwrap();
        let codes: Vec<u8> = list.iter().map(|r| r.attribute).collect();
        assert_eq!(
            codes,
            [
                ACCELERATOR_TARGET,
                ISA_CLASS,
                TCGEN05_MMA,
                MERCURY_ISA_VERSION,
                TENSORMAP_V1,
                OPPORTUNISTIC_FINALIZATION,
                FASTPATH_FINALIZE
            ]
        );
        let mask = list[6].word(0).unwrap();
        let devices: Vec<_> = (0..32).filter(|b| mask >> b & 1 == 1).map(fastpath_device).collect();
        assert_eq!(devices, [Some("sm_120"), Some("sm_121")]);
        assert_eq!(attribute_name(13), None);
        assert_eq!(attribute_name(200), None);
        let mut out = Vec::new();
        list.iter().for_each(|r| r.write(&mut out));
        assert_eq!(out, bytes);
    }
}
