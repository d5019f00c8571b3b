//! `.nv_debug_info_reg_sass` of an input: per function, the registers that variables are in, by ranges of code.

/// The section.
pub(crate) const NAME: &[u8] = b".nv_debug_info_reg_sass";

/// Names of the functions in a list of registers.
pub(crate) fn functions(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    lists(data).into_iter().map(|l| l.name)
}

/// The list of one function.
pub(crate) struct List<'d> {
    pub(crate) name: &'d [u8],
    pub(crate) records: Vec<Record>,
}

/// A register that holds a variable in a range of code.
pub(crate) struct Record {
    pub(crate) register: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where start and end are in the section.
    pub(crate) range: usize,
}

/// Reads the valid lists at the start of the section.
pub(crate) fn lists(data: &[u8]) -> Vec<List<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((list, end)) = list(data, at) {
        found.push(list);
        at = end;
    }
    found
}

fn list(data: &[u8], start: usize) -> Option<(List<'_>, usize)> {
    let string = |at: usize| data.get(at..)?.iter().position(|&b| b == 0).map(|n| at + n);
    let word = |at: usize| Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?));
    let end = string(start)?;
    let name = data.get(start..end)?;
    let mut at = end + 5;
    let mut records = Vec::new();
    for _ in 0..word(end + 1)? {
        let range = string(at + 4)? + 5;
        records.push(Record {
            register: word(range - 4)?,
            start: word(range)?.into(),
            end: word(range + 4)?.into(),
            range,
        });
        at = range + 8;
    }
    Some((List { name, records }, at))
}
