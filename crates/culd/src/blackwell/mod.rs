//! Links for sm_100 and later: files with two views of the same module.
pub(crate) mod view;
