//! The way from a page to the store, so that a link works wherever both are.

use std::path::{Component, Path, PathBuf};

use records::record::Evidence;
use records::store::Store;

/// Where a page is read.
pub(super) enum Place {
    /// In a terminal, which follows no link.
    Terminal,
    /// On loopback, with the store's files beside it.
    Served,
    /// In this file.
    File(PathBuf),
}

impl Place {
    /// What leads from the page to the store.
    pub(super) fn base(&self, store: &Store) -> String {
        match self {
            Self::Terminal => String::new(),
            Self::Served => "/".to_owned(),
            Self::File(page) => between(page, store.dir()),
        }
    }

    /// What leads from the page to a file of evidence, inside the store or outside.
    pub(super) fn evidence(&self, store: &Store, entry: &Evidence) -> String {
        let file = store.evidence_file(entry);
        match (self, file.parent()) {
            (Self::File(page), Some(folder)) if entry.external => {
                between(page, folder) + &entry.sha256
            }
            _ => self.base(store) + &entry.path,
        }
    }
}

/// What leads from the folder of `page` to a folder, with a slash at its end.
fn between(page: &Path, store: &Path) -> String {
    let absolute = |path: &Path| {
        std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| normal(&path))
    };
    let (page, store) = (absolute(page), absolute(store));
    let from: Vec<Component<'_>> =
        page.parent().map(|folder| folder.components().collect()).unwrap_or_default();
    let to: Vec<Component<'_>> = store.components().collect();
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - shared);
    let down = to[shared..].iter().map(|part| encoded(&part.as_os_str().to_string_lossy()));
    up.chain(down).map(|part| part + "/").collect()
}

/// The path without `.` and `..`, as far as its text says.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// What an address may not hold, in percents.
fn encoded(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    part.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_a_page_to_the_store() {
        let to = |page: &str, store: &str| between(Path::new(page), Path::new(store));
        assert_eq!(to("/a/b/page.html", "/a/records"), "../records/");
        assert_eq!(to("/a/page.html", "/a/my records"), "my%20records/");
        assert_eq!(to("/a/./x/../page.html", "/b"), "../b/");
    }
}
