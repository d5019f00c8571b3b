//! Where a tool or library was searched, in a message that it was not found.

/// ` (tried A, B)`; nothing where no place was known to search.
pub fn tried(places: &[String]) -> String {
    match places {
        [] => String::new(),
        places => format!(" (tried {})", places.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_empty_list() {
        assert_eq!(super::tried(&[]), "");
        assert_eq!(super::tried(&["/a".into(), "/b".into()]), " (tried /a, /b)");
    }
}
