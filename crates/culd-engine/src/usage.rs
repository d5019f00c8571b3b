//! What a program uses, as values: memory of the whole program and resources of each kernel. Their `Display` is nvlink's text of `-v`.

use std::fmt;

/// What the linked program uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceUsage {
    /// Number of messages that came up before it.
    pub after: usize,
    /// Memory of the whole program.
    pub memory: MemoryUsage,
    /// Kernels in the order of nvlink's report: last definition first.
    pub kernels: Vec<KernelUsage>,
}

impl ResourceUsage {
    /// The lines that nvlink prints with `-v`, without program name and severity.
    pub fn lines(&self) -> Vec<String> {
        let kernels = self.kernels.iter();
        let kernels = kernels.flat_map(|k| [format!("Function properties for '{}':", k.name), k.to_string()]);
        std::iter::once(self.memory.to_string()).chain(kernels).collect()
    }
}

/// A constant bank and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConstantBank {
    /// Number of the bank.
    pub bank: u32,
    /// Bytes.
    pub size: u64,
}

/// Memory of the whole program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUsage {
    /// Bytes of global memory.
    pub global: u64,
    /// Constant banks in ascending order.
    pub constant_banks: Vec<ConstantBank>,
}

/// Registers, barriers, stack and memory of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelUsage {
    /// Name in the file.
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Barriers.
    pub barriers: u32,
    /// nvlink's text does not state the barriers, as up to CUDA 12.
    pub omits_barriers: bool,
    /// Bytes of stack; that of the kernel's own frame when it is unknown.
    pub stack: u64,
    /// The stack is unknown: the kernel may recurse.
    pub stack_is_unknown: bool,
    /// Bytes of static shared memory.
    pub shared: u64,
    /// Constant banks in ascending order.
    pub constant_banks: Vec<ConstantBank>,
    /// Texture references.
    pub textures: u32,
    /// Surface references.
    pub surfaces: u32,
    /// Sampler references.
    pub samplers: u32,
}

fn write_banks(banks: &[ConstantBank], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    banks.iter().try_for_each(|b| write!(f, ", {} bytes cmem[{}]", b.size, b.bank))
}

impl fmt::Display for MemoryUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes gmem", self.global)?;
        write_banks(&self.constant_banks, f)
    }
}

impl fmt::Display for KernelUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "used {} registers, ", self.registers)?;
        if !self.omits_barriers {
            write!(f, "used {} barriers, ", self.barriers)?;
        }
        write!(f, "{} stack, {} bytes smem", self.stack, self.shared)?;
        write_banks(&self.constant_banks, f)?;
        write!(f, ", 0 bytes lmem")?;
        let counts = [
            (self.textures, "textures"),
            (self.surfaces, "surfaces"),
            (self.samplers, "samplers"),
        ];
        counts
            .iter()
            .filter(|(n, _)| *n > 0)
            .try_for_each(|(n, what)| write!(f, ", {n} {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_nvlink() {
        let constant_banks = vec![ConstantBank { bank: 3, size: 8 }];
        let memory = MemoryUsage {
            global: 4,
            constant_banks: constant_banks.clone(),
        };
        assert_eq!(memory.to_string(), "4 bytes gmem, 8 bytes cmem[3]");
        let kernel = KernelUsage {
            registers: 10,
            constant_banks,
            samplers: 2,
            ..KernelUsage::default()
        };
        assert_eq!(
            kernel.to_string(),
            "used 10 registers, used 0 barriers, 0 stack, 0 bytes smem, 8 bytes cmem[3], 0 bytes lmem, 2 samplers"
        );
    }
}
