//! Archives: regular and thin, with GNU and BSD long names, with a 32-bit or 64-bit symbol index.
//!
//! 1. After the magic, members follow: a 60-byte header, then the bytes, padded to an even offset.
//! 2. `/`, `/SYM64/` and `__.SYMDEF*` are symbol indices and are passed over: a device link takes every member.
//! 3. `//` holds long names, which later headers name by offset (`/123`); BSD headers (`#1/20`) put the name before the bytes.
//! 4. Thin archives have headers and the long names only; the members are files named relative to the archive.

/// Size of a member header.
const HEADER: usize = 60;

/// Why an archive cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// No archive magic.
    #[error("no archive magic")]
    NotArchive,
    /// A header field that is not a number.
    #[error("member header at offset {offset:#x} has no valid size")]
    Size {
        /// Offset of the header.
        offset: usize,
    },
    /// A header without its end mark.
    #[error("member header at offset {offset:#x} has no end mark")]
    EndMark {
        /// Offset of the header.
        offset: usize,
    },
    /// A header or a member that is not in the archive.
    #[error("member at offset {offset:#x} is truncated")]
    Truncated {
        /// Offset of the header.
        offset: usize,
    },
    /// The symbol index names members that do not exist.
    #[error("its index names a member at offset {offset:#x}, the archive has {size:#x} bytes")]
    Index {
        /// Offset of the member.
        offset: u64,
        /// Size of the archive.
        size: usize,
    },
    /// A long name that is not there.
    #[error("member at offset {offset:#x} has a long name that is not in the archive")]
    Name {
        /// Offset of the header.
        offset: usize,
    },
}

/// One member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'d> {
    /// Name.
    pub name: &'d [u8],
    /// Bytes; empty in a thin archive.
    pub data: &'d [u8],
    /// Offset of its header in the archive.
    pub offset: usize,
}

/// Iterates over the members of an archive.
#[derive(Debug, Clone)]
pub struct Members<'d> {
    archive: &'d [u8],
    thin: bool,
    lenient: bool,
    long_names: &'d [u8],
    offset: usize,
}

impl<'d> Members<'d> {
    /// The members of `archive`.
    ///
    /// `lenient` is nvlink's way: the end mark is not looked at, and a member that runs past the end is cut there.
    pub fn new(archive: &'d [u8], lenient: bool) -> Result<Self, ArchiveError> {
        let thin = match archive.get(..8) {
            Some(b"!<arch>\n") => false,
            Some(b"!<thin>\n") => true,
            _ => return Err(ArchiveError::NotArchive),
        };
        Ok(Members {
            archive,
            thin,
            lenient,
            long_names: &[],
            offset: 8,
        })
    }

    /// True when the members are files of their own.
    pub fn is_thin(&self) -> bool {
        self.thin
    }

    fn read(&mut self) -> Result<Option<Member<'d>>, ArchiveError> {
        loop {
            let offset = self.offset;
            let rest = self.archive.get(offset..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(None);
            }
            let header = rest.get(..HEADER).ok_or(ArchiveError::Truncated { offset })?;
            let size = number(header.get(48..58).unwrap_or_default()).ok_or(ArchiveError::Size { offset })?;
            if !self.lenient && header.get(58..60) != Some(b"`\n") {
                return Err(ArchiveError::EndMark { offset });
            }
            let name = header.get(..16).unwrap_or_default().trim_ascii_end();
            let is_table = matches!(name, b"/" | b"//" | b"/SYM64/");
            let after = rest.get(HEADER..).unwrap_or_default();
            let stored = if self.thin && !is_table { 0 } else { size };
            let data = match after.get(..stored) {
                Some(data) => data,
                None if self.lenient => after,
                None => return Err(ArchiveError::Truncated { offset }),
            };
            self.offset = offset.saturating_add(HEADER).saturating_add(stored);
            self.offset += self.offset & 1;
            match name {
                b"//" => self.long_names = data,
                b"/" | b"/SYM64/" if self.lenient => {}
                b"/" => self.index(data, 4)?,
                b"/SYM64/" => self.index(data, 8)?,
                // nvlink quirk: every name ends in a slash, so that names of BSD archives are strange or wrong.
                _ if self.lenient && !name.contains(&b'/') => return Err(ArchiveError::Name { offset }),
                _ if self.lenient && name.starts_with(b"#1/") => return Ok(Some(Member { name, data, offset })),
                _ => {
                    let member = self.named(name, data, offset)?;
                    if !member.name.starts_with(b"__.SYMDEF") {
                        return Ok(Some(member));
                    }
                }
            }
        }
    }

    /// A symbol index: a number of symbols, then the offset of each one's member, big-endian words of `width` bytes. An archive that
    /// was cut between two members looks whole but for this.
    fn index(&self, data: &[u8], width: usize) -> Result<(), ArchiveError> {
        let mut words = data.chunks_exact(width).map(|w| w.iter().fold(0u64, |n, &b| n << 8 | u64::from(b)));
        let count = usize::try_from(words.next().unwrap_or_default()).unwrap_or(usize::MAX);
        match words.take(count).find(|&offset| offset >= self.archive.len() as u64) {
            None => Ok(()),
            Some(offset) => Err(ArchiveError::Index {
                offset,
                size: self.archive.len(),
            }),
        }
    }

    /// Resolves the name in a header.
    fn named(&self, name: &'d [u8], data: &'d [u8], offset: usize) -> Result<Member<'d>, ArchiveError> {
        let missing = ArchiveError::Name { offset };
        if let Some(length) = name.strip_prefix(b"#1/") {
            let length = number(length).ok_or(missing.clone())?;
            let (name, data) = data.split_at_checked(length).ok_or(missing)?;
            let name = name.split(|&b| b == 0).next().unwrap_or_default();
            return Ok(Member { name, data, offset });
        }
        if let Some(at) = name.strip_prefix(b"/") {
            let at = number(at).ok_or(missing.clone())?;
            let long = self.long_names.get(at..).ok_or(missing)?;
            let line = long.split(|&b| b == b'\n').next().unwrap_or_default();
            let name = line.strip_suffix(b"/").unwrap_or(line);
            return Ok(Member { name, data, offset });
        }
        let name = name.strip_suffix(b"/").unwrap_or(name);
        Ok(Member { name, data, offset })
    }
}

impl<'d> Iterator for Members<'d> {
    type Item = Result<Member<'d>, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let member = self.read();
        if member.is_err() {
            self.offset = usize::MAX;
        }
        member.transpose()
    }
}

/// A regular archive with the members of a thin one, whose bytes `open` finds by name. `None` when the archive is not thin, is damaged or lacks
/// a member.
pub fn with_members(archive: &[u8], mut open: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let members = Members::new(archive, false).ok().filter(Members::is_thin)?;
    let members: Vec<Member<'_>> = members.collect::<Result<_, _>>().ok()?;
    let mut names = Vec::new();
    let mut contents = Vec::new();
    for member in members {
        write_member(&mut contents, format!("/{}", names.len()).as_bytes(), &open(member.name)?);
        names.extend_from_slice(member.name);
        names.extend_from_slice(b"/\n");
    }
    let mut out = b"!<arch>\n".to_vec();
    write_member(&mut out, b"//", &names);
    out.extend(contents);
    Some(out)
}

fn write_member(out: &mut Vec<u8>, name: &[u8], data: &[u8]) {
    let name = String::from_utf8_lossy(name);
    out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).into_bytes());
    out.extend_from_slice(data);
    if data.len() % 2 == 1 {
        out.push(b'\n');
    }
}

/// A decimal number padded with blanks.
fn number(field: &[u8]) -> Option<usize> {
    let digits = field.trim_ascii();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0usize, |n, &b| {
        let digit = char::from(b).to_digit(10)?;
        // What is larger than an address is larger than any archive.
        Some(n.saturating_mul(10).saturating_add(digit as usize))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn header(name: &str, size: usize) -> Vec<u8> {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
    }

    fn member(out: &mut Vec<u8>, name: &str, data: &[u8]) {
        write_member(out, name.as_bytes(), data);
    }

    fn names_and_data(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
        let members = Members::new(archive, false).unwrap();
        members
            .map(|m| m.map(|m| (String::from_utf8_lossy(m.name).into_owned(), m.data.to_vec())))
            .collect::<Result<_, _>>()
            .unwrap()
    }

    #[test]
    fn every_form_of_name_is_read() {
        let mut gnu = b"!<arch>\n".to_vec();
        member(&mut gnu, "/", &[0; 12]);
        member(&mut gnu, "//", b"a_name_longer_than_sixteen.o/\nsecond_long_name_here.o/\n");
        member(&mut gnu, "/0", b"one");
        member(&mut gnu, "short.o/", b"two2");
        member(&mut gnu, "/30", b"three");
        let expected = [
            ("a_name_longer_than_sixteen.o", "one"),
            ("short.o", "two2"),
            ("second_long_name_here.o", "three"),
        ];
        let expected = expected.map(|(n, d)| (n.to_owned(), d.as_bytes().to_vec()));
        assert_eq!(names_and_data(&gnu), expected);

        let mut bsd = b"!<arch>\n".to_vec();
        member(&mut bsd, "__.SYMDEF SORTED", &[0; 8]);
        member(&mut bsd, "#1/20", b"a_name_with blanks.oDATA");
        member(&mut bsd, "plain.o", b"x");
        member(&mut bsd, "/SYM64/", &[0; 16]);
        let expected = [("a_name_with blanks.o", "DATA"), ("plain.o", "x")];
        let expected = expected.map(|(n, d)| (n.to_owned(), d.as_bytes().to_vec()));
        assert_eq!(names_and_data(&bsd), expected);
    }

    #[test]
    fn thin_members_have_names_only() {
        let mut thin = b"!<thin>\n".to_vec();
        member(&mut thin, "/", &[0; 4]);
        member(&mut thin, "//", b"dir/some_long_name_of_a_file.o/\n");
        thin.extend(header("/0", 5000));
        thin.extend(header("b.o/", 7000));
        let expected = [("dir/some_long_name_of_a_file.o", ""), ("b.o", "")];
        let expected = expected.map(|(n, d)| (n.to_owned(), d.as_bytes().to_vec()));
        assert_eq!(names_and_data(&thin), expected);
    }

    #[test]
    fn a_thin_archive_becomes_a_regular_one() {
        let mut thin = b"!<thin>\n".to_vec();
        member(&mut thin, "//", b"dir/some_long_name_of_a_file.o/\n");
        thin.extend(header("/0", 5000));
        thin.extend(header("b.o/", 7000));
        let regular = with_members(&thin, |name| Some([b"<", name].concat())).unwrap();
        let expected = [
            ("dir/some_long_name_of_a_file.o", "<dir/some_long_name_of_a_file.o"),
            ("b.o", "<b.o"),
        ];
        let expected = expected.map(|(n, d)| (n.to_owned(), d.as_bytes().to_vec()));
        assert_eq!(names_and_data(&regular), expected);
        assert_eq!(with_members(&regular, |_| Some(Vec::new())), None);
        assert_eq!(with_members(&thin, |_| None), None);
    }

    #[test]
    fn damage_is_an_error_and_ends_the_walk() {
        let mut archive = b"!<arch>\n".to_vec();
        member(&mut archive, "a.o/", &[1; 10]);
        member(&mut archive, "b.o/", &[2; 10]);
        for cut in 9..archive.len() {
            let all: Vec<_> = Members::new(&archive[..cut], false).unwrap().collect();
            let at_boundary = cut == 8 + HEADER + 10;
            assert_eq!(all.iter().any(Result::is_err), !at_boundary, "cut at {cut}");
        }
        let bad = |at: usize, with: &[u8]| {
            let mut copy = archive.clone();
            copy[at..at + with.len()].copy_from_slice(with);
            let all: Vec<_> = Members::new(&copy, false).unwrap().collect();
            assert_eq!(all.len(), 1);
            all[0].clone().unwrap_err()
        };
        assert_eq!(bad(8 + 48, b"-5        "), ArchiveError::Size { offset: 8 });
        assert_eq!(bad(8 + 58, b"zz"), ArchiveError::EndMark { offset: 8 });
        assert_eq!(bad(8, b"/99             "), ArchiveError::Name { offset: 8 });
        assert_eq!(bad(8 + 48, b"9999999999"), ArchiveError::Truncated { offset: 8 });
    }
}
