//! The part of the workspace's manifest and lock file that can decide what some of its crates compute.
//!
//! Everything else in the two files belongs to other crates: an edit there must not make a word lapse. Written with `std`
//! alone, for the same reason as [`super::source_digest`], beside which it is included.

use std::collections::{BTreeMap, BTreeSet};

/// Between the packages of a lock file.
const PACKAGE: &str = "[[package]]\n";
/// The section of the manifest that names dependencies of all crates.
const DEPENDENCIES: &str = "[workspace.dependencies]";

/// The names and versions of all packages that `crates` need, themselves included.
pub(super) struct Closure<'a> {
    packages: BTreeSet<&'a str>,
    names: BTreeSet<&'a str>,
}

impl<'a> Closure<'a> {
    /// Reads it from a lock file. A dependency is `NAME`, or `NAME VERSION` where several are locked.
    pub(super) fn of(lock: &'a str, crates: &[&'a str]) -> Self {
        let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for package in packages(lock) {
            by_name.entry(value(package, "name")).or_default().push(package);
        }
        let mut closure = Self { packages: BTreeSet::new(), names: BTreeSet::new() };
        let mut wanted: Vec<(&str, Option<&str>)> =
            crates.iter().map(|name| (*name, None)).collect();
        while let Some((name, version)) = wanted.pop() {
            for package in by_name.get(name).into_iter().flatten() {
                let fits = version.is_none_or(|version| value(package, "version") == version);
                if fits && closure.packages.insert(package) {
                    closure.names.insert(name);
                    wanted.extend(dependencies(package));
                }
            }
        }
        closure
    }

    /// The lock file without the packages of others.
    pub(super) fn lock(&self, lock: &str) -> String {
        let head = lock.split(PACKAGE).next().unwrap_or_default();
        let kept = packages(lock).filter(|package| self.packages.contains(package));
        kept.fold(head.to_owned(), |text, package| text + PACKAGE + package)
    }

    /// The manifest without others' lines in its dependency section. A section with any entry that is not plain,
    /// `NAME = "..."` or `NAME = { ... }` in one line under the package's own name, stays whole.
    pub(super) fn manifest(&self, manifest: &str) -> String {
        let (mut text, mut inside) = (String::new(), false);
        for line in manifest.split_inclusive('\n') {
            if line.starts_with('[') {
                inside = line.trim_end() == DEPENDENCIES;
            } else if inside {
                match Entry::of(line) {
                    Entry::None => continue,
                    Entry::Plain(name) if !self.names.contains(name) => continue,
                    Entry::Plain(_) => {}
                    Entry::Other => return manifest.to_owned(),
                }
            }
            text.push_str(line);
        }
        text
    }
}

/// A line of the dependency section.
enum Entry<'a> {
    /// A comment, or nothing.
    None,
    /// A whole entry of the package of that name.
    Plain(&'a str),
    /// Anything else.
    Other,
}

impl<'a> Entry<'a> {
    fn of(line: &'a str) -> Self {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return Self::None;
        }
        let Some((name, value)) = line.split_once(" = ") else { return Self::Other };
        let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let whole = (value.starts_with('"') && value.ends_with('"'))
            || (value.starts_with('{') && value.ends_with('}'));
        if name.chars().all(bare) && whole && !value.contains("package") {
            Self::Plain(name)
        } else {
            Self::Other
        }
    }
}

fn packages(lock: &str) -> impl Iterator<Item = &str> {
    lock.split(PACKAGE).skip(1)
}

/// The text of `KEY = "TEXT"`; nothing where there is none.
fn value<'a>(package: &'a str, key: &str) -> &'a str {
    let found = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
    found.unwrap_or_default().trim_matches('"')
}

fn dependencies(package: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let entries = package.lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
    entries.map(|entry| {
        let mut words = entry.split(' ');
        (words.next().unwrap_or_default(), words.next())
    })
}

#[cfg(test)]
mod tests {
    use super::Closure;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\ndependencies = [\n \"c 1.0.0\",\n]\n\n\
        [[package]]\nname = \"b\"\nversion = \"1.0.0\"\ndependencies = [\n \"c 2.0.0\",\n \"d\",\n]\n\n\
        [[package]]\nname = \"c\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"c\"\nversion = \"2.0.0\"\n\n\
        [[package]]\nname = \"d\"\nversion = \"3.0.0\"\ndependencies = [\n \"a\",\n]\n";

    #[test]
    fn a_lock_keeps_what_the_crate_needs_in_the_versions_it_needs() {
        let names = |crates: &[&'static str]| {
            let closure = Closure::of(LOCK, crates);
            let lock = closure.lock(LOCK);
            assert!(lock.starts_with("version = 4\n\n"));
            lock.lines()
                .filter(|line| line.starts_with("name") || line.starts_with("version = \""))
                .map(|line| line.split('"').nth(1).unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(names(&["a"]), "a 1.0.0 c 1.0.0");
        assert_eq!(names(&["b"]), "a 1.0.0 b 1.0.0 c 1.0.0 c 2.0.0 d 3.0.0");
        assert_eq!(Closure::of(LOCK, &["b"]).lock(LOCK), LOCK);
        assert_eq!(names(&["absent"]), "");
    }

    #[test]
    fn a_manifest_keeps_everything_but_plain_dependencies_of_others() {
        let manifest = "[workspace]\nmembers = [\"a\"]\n\n[workspace.dependencies]\n# ours\na = { path = \"a\" }\nd = \"3\"\n\n\
            [profile.release]\nlto = true\n";
        let closure = Closure::of(LOCK, &["a"]);
        let kept = manifest.replace("# ours\n", "").replace("d = \"3\"\n\n", "");
        assert_eq!(closure.manifest(manifest), kept);
        for other in [
            "e = { package = \"a\", version = \"1\" }",
            "d.version = \"3\"",
            "\"d\" = \"3\"",
            " d = \"3\"",
            "d = { version = \"3\", features = [\n\"x\",\n] }",
            "d = \"3\" # why",
        ] {
            let manifest = manifest.replace("d = \"3\"", other);
            assert_eq!(closure.manifest(&manifest), manifest, "{other}");
        }
    }
}
