//! Which names a transfer takes: globs on bytes, sizes and times.
//!
//! A pattern without a slash matches a name at any depth; with a slash at its end it means a folder and all below; with
//! a slash inside it matches the path below the source. `*` does not cross `/`, `**` does. Excludes win over includes;
//! an excluded folder is not entered. With includes, sizes or times set, folders are taken only on the way to a file
//! that is.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, Kind};

use crate::name::RelPath;
use crate::value::decimal;

/// Most patterns of one kind.
pub const MAX_PATTERNS: usize = 256;
/// Longest pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1024;

/// Filters as they stand in a ticket. Empty `include` takes everything; limits count only for regular files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Patterns of which a file must match one.
    pub include: Vec<String>,
    /// Patterns of which nothing may match any.
    pub exclude: Vec<String>,
    /// Smallest size in bytes, inclusive.
    #[serde(with = "decimal::option")]
    pub min_size: Option<u64>,
    /// Largest size in bytes, inclusive.
    #[serde(with = "decimal::option")]
    pub max_size: Option<u64>,
    /// Earliest modification time, inclusive.
    #[serde(with = "decimal::option")]
    pub modified_after_ns: Option<i128>,
    /// Modification times from here on are left out.
    #[serde(with = "decimal::option")]
    pub modified_before_ns: Option<i128>,
}

/// Why filters can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// Too many patterns.
    #[error("more than {MAX_PATTERNS} patterns")]
    TooMany,
    /// A pattern that is empty, too long or not a glob.
    #[error("the pattern `{pattern}` can't be used: {detail}")]
    Pattern {
        /// The pattern, shortened.
        pattern: String,
        /// What is wrong with it.
        detail: String,
    },
}

/// What a filter says of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken.
    Selected,
    /// It is left alone, on both sides.
    Excluded,
}

/// Filters, compiled.
#[derive(Debug, Clone)]
pub struct Filter {
    include: Option<Patterns>,
    exclude: Option<Patterns>,
    filters: Filters,
}

impl Filter {
    /// Compiles filters.
    ///
    /// # Errors
    /// Names the first pattern that can't be used.
    pub fn new(filters: &Filters) -> Result<Self, FilterError> {
        Ok(Self {
            include: Patterns::new(&filters.include)?,
            exclude: Patterns::new(&filters.exclude)?,
            filters: filters.clone(),
        })
    }

    /// Whether this entry is taken. A folder is taken when it is not excluded; see [`select`] for folders in which
    /// nothing is taken. The empty path is the file that was asked for by name: patterns don't concern it.
    #[must_use]
    pub fn selects(&self, entry: &Entry) -> Verdict {
        let Entry { path, kind, .. } = entry;
        let excluded = !self.enters(path, *kind);
        let included = *kind == Kind::Dir
            || path.is_root()
            || self
                .include
                .as_ref()
                .is_none_or(|patterns| patterns.matches(path, *kind));
        if included && !excluded && self.within_limits(entry) {
            Verdict::Selected
        } else {
            Verdict::Excluded
        }
    }

    /// Whether anything below this folder can be taken.
    #[must_use]
    pub fn descends(&self, folder: &RelPath) -> bool {
        self.enters(folder, Kind::Dir)
    }

    /// Whether some files are left out by more than an exclude pattern, so that folders are taken only for files.
    #[must_use]
    pub fn picks_files(&self) -> bool {
        let Filters {
            min_size,
            max_size,
            modified_after_ns,
            modified_before_ns,
            ..
        } = &self.filters;
        self.include.is_some()
            || min_size.or(*max_size).is_some()
            || modified_after_ns.or(*modified_before_ns).is_some()
    }

    fn enters(&self, path: &RelPath, kind: Kind) -> bool {
        !self
            .exclude
            .as_ref()
            .is_some_and(|patterns| patterns.covers(path, kind))
    }

    fn within_limits(&self, entry: &Entry) -> bool {
        let Filters {
            min_size,
            max_size,
            modified_after_ns,
            modified_before_ns,
            ..
        } = &self.filters;
        entry.kind != Kind::File
            || (min_size.is_none_or(|min| entry.size >= min)
                && max_size.is_none_or(|max| entry.size <= max)
                && modified_after_ns.is_none_or(|after| entry.mtime_ns >= after)
                && modified_before_ns.is_none_or(|before| entry.mtime_ns < before))
    }
}

/// What [`select`] gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picked {
    /// A file, folder or symlink to be copied.
    Selected(Entry),
    /// A socket, fifo or device that would be selected: skipped and reported.
    Special(Entry),
    /// To be left alone. Folders on the way to nothing are not reported.
    Excluded(Entry),
}

/// Applies a filter to a listing in path order (a folder right before what it holds), holding folders back until
/// something below them is taken where the filter picks files. Holds at most one folder per level.
pub fn select<E>(
    filter: &Filter,
    entries: impl Iterator<Item = Result<Entry, E>>,
) -> impl Iterator<Item = Result<Picked, E>> {
    let mut waiting: Vec<Entry> = Vec::new();
    entries.flat_map(move |entry| {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return vec![Err(error)],
        };
        if filter.selects(&entry) == Verdict::Excluded {
            return vec![Ok(Picked::Excluded(entry))];
        }
        if entry.kind == Kind::Other {
            return vec![Ok(Picked::Special(entry))];
        }
        if !filter.picks_files() {
            return vec![Ok(Picked::Selected(entry))];
        }
        waiting.retain(|folder| entry.path.starts_with(&folder.path));
        if entry.kind == Kind::Dir {
            waiting.push(entry);
            return Vec::new();
        }
        waiting
            .drain(..)
            .chain([entry])
            .map(|entry| Ok(Picked::Selected(entry)))
            .collect()
    })
}

/// Patterns of one kind, in three sets by what they are held against.
#[derive(Debug, Clone)]
struct Patterns {
    names: GlobSet,
    paths: GlobSet,
    folder_names: GlobSet,
    folder_paths: GlobSet,
}

impl Patterns {
    /// `None` when there are no patterns.
    fn new(patterns: &[String]) -> Result<Option<Self>, FilterError> {
        if patterns.is_empty() {
            return Ok(None);
        }
        if patterns.len() > MAX_PATTERNS {
            return Err(FilterError::TooMany);
        }
        let mut sets: [GlobSetBuilder; 4] = std::array::from_fn(|_| GlobSetBuilder::new());
        let [names, paths, folder_names, folder_paths] = &mut sets;
        for pattern in patterns {
            let refuse = |detail: String| FilterError::Pattern {
                pattern: pattern.chars().take(80).collect(),
                detail,
            };
            if pattern.len() > MAX_PATTERN_BYTES {
                return Err(refuse(format!(
                    "it is longer than {MAX_PATTERN_BYTES} bytes"
                )));
            }
            let (folder, body) = pattern
                .strip_suffix('/')
                .map_or((false, pattern.as_str()), |body| (true, body));
            let anchored = body.contains('/');
            let body = body.strip_prefix('/').unwrap_or(body);
            if body.is_empty() {
                return Err(refuse("it is empty".to_owned()));
            }
            let glob = GlobBuilder::new(body)
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|error| refuse(error.kind().to_string()))?;
            let set = match (folder, anchored) {
                (false, false) => &mut *names,
                (false, true) => &mut *paths,
                (true, false) => &mut *folder_names,
                (true, true) => &mut *folder_paths,
            };
            set.add(glob);
        }
        let build = |set: &GlobSetBuilder| {
            set.build().map_err(|error| FilterError::Pattern {
                pattern: error
                    .glob()
                    .unwrap_or("(all together)")
                    .chars()
                    .take(80)
                    .collect(),
                detail: error.kind().to_string(),
            })
        };
        Ok(Some(Self {
            names: build(names)?,
            paths: build(paths)?,
            folder_names: build(folder_names)?,
            folder_paths: build(folder_paths)?,
        }))
    }

    /// Whether a pattern means this very path, or a folder (by its slash) with all below.
    fn matches(&self, path: &RelPath, kind: Kind) -> bool {
        let own = |sets: [&GlobSet; 2]| is_match(sets, path.as_bytes());
        own([&self.names, &self.paths])
            || (kind == Kind::Dir && own([&self.folder_names, &self.folder_paths]))
            || any_folder_above(path, [&self.folder_names, &self.folder_paths])
    }

    /// As [`Patterns::matches`], and whatever kind of pattern means a folder means all below it.
    fn covers(&self, path: &RelPath, kind: Kind) -> bool {
        self.matches(path, kind) || any_folder_above(path, [&self.names, &self.paths])
    }
}

/// Holds the last name of a path against the first set and the whole path against the second.
fn is_match([names, paths]: [&GlobSet; 2], path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    !path.is_empty() && (names.is_match(path_of(name)) || paths.is_match(path_of(path)))
}

fn any_folder_above(path: &RelPath, sets: [&GlobSet; 2]) -> bool {
    if sets.iter().all(|set| set.is_empty()) {
        return false;
    }
    let bytes = path.as_bytes();
    let borders = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    borders
        .map(|(end, _)| &bytes[..end])
        .any(|folder| is_match(sets, folder))
}

fn path_of(bytes: &[u8]) -> &std::path::Path {
    use std::os::unix::ffi::OsStrExt;
    std::path::Path::new(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::version::Version;

    fn entry(path: &[u8], kind: Kind, size: u64, mtime_ns: i128) -> Entry {
        let path = RelPath::from_bytes(path).expect("a test path");
        Entry {
            path,
            kind,
            size,
            mtime_ns,
            version: Version::new(b"1").expect("short"),
            mode: 0o644,
            target: None,
        }
    }

    fn patterns(include: &[&str], exclude: &[&str]) -> Filters {
        let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        Filters {
            include: owned(include),
            exclude: owned(exclude),
            ..Filters::default()
        }
    }

    fn takes(filters: &Filters, path: &str) -> bool {
        let filter = Filter::new(filters).expect("usable filters");
        filter.selects(&entry(path.as_bytes(), Kind::File, 1, 0)) == Verdict::Selected
    }

    #[test]
    fn patterns_without_slash_match_names_at_any_depth() {
        let filters = patterns(&["*.mrc"], &["tmp*"]);
        assert!(takes(&filters, "a.mrc") && takes(&filters, "deep/er/b.mrc"));
        assert!(
            !takes(&filters, "a.txt")
                && !takes(&filters, "x/tmp1.mrc")
                && !takes(&filters, "A.MRC")
        );
    }

    #[test]
    fn patterns_with_slash_match_the_path_below_the_source() {
        let filters = patterns(&["raw/*.mrc", "all/**", "/top.txt"], &[]);
        assert!(
            takes(&filters, "raw/a.mrc")
                && takes(&filters, "all/b/c")
                && takes(&filters, "top.txt")
        );
        assert!(
            !takes(&filters, "raw/x/a.mrc")
                && !takes(&filters, "x/raw/a.mrc")
                && !takes(&filters, "x/top.txt")
        );
    }

    #[test]
    fn a_trailing_slash_means_a_folder_and_all_below() {
        let filters = patterns(&["run42/", "a/b/"], &["cache/"]);
        assert!(
            takes(&filters, "run42/x")
                && takes(&filters, "z/run42/y/x")
                && takes(&filters, "a/b/c/d")
        );
        assert!(
            !takes(&filters, "run42")
                && !takes(&filters, "z/a/b/c")
                && !takes(&filters, "run42/cache/x")
        );
        let filter = Filter::new(&filters).expect("usable filters");
        let folder = |path: &str| RelPath::from_bytes(path.as_bytes()).expect("a test path");
        assert!(
            !filter.descends(&folder("run42/cache")) && filter.descends(&folder("run42/cached"))
        );
    }

    #[test]
    fn names_are_bytes() {
        let filter = Filter::new(&patterns(&["*.dat"], &[])).expect("usable filters");
        assert_eq!(
            filter.selects(&entry(b"\xff\xfe\n.dat", Kind::File, 1, 0)),
            Verdict::Selected
        );
    }

    #[test]
    fn sizes_and_times_count_for_files_only() {
        let filters = Filters {
            min_size: Some(10),
            max_size: Some(20),
            modified_after_ns: Some(100),
            modified_before_ns: Some(200),
            ..Filters::default()
        };
        let filter = Filter::new(&filters).expect("usable filters");
        let takes = |kind, size, mtime| {
            filter.selects(&entry(b"x", kind, size, mtime)) == Verdict::Selected
        };
        assert!(takes(Kind::File, 10, 100) && takes(Kind::File, 20, 199));
        assert!(!takes(Kind::File, 9, 100) && !takes(Kind::File, 21, 100));
        assert!(!takes(Kind::File, 10, 99) && !takes(Kind::File, 10, 200));
        assert!(takes(Kind::Dir, 4096, 0) && takes(Kind::Symlink, 1, 0));
    }

    #[test]
    fn folders_are_taken_only_on_the_way_to_a_file_that_is() {
        let listing = [
            ("a", Kind::Dir),
            ("a/empty", Kind::Dir),
            ("a/full", Kind::Dir),
            ("a/full/x.mrc", Kind::File),
            ("b", Kind::Dir),
            ("b/y.txt", Kind::File),
        ];
        let run = |filters: &Filters| -> Vec<String> {
            let filter = Filter::new(filters).expect("usable filters");
            let entries = listing
                .iter()
                .map(|(path, kind)| Ok::<_, Infallible>(entry(path.as_bytes(), *kind, 1, 0)));
            let picked = select(&filter, entries).map(|picked| match picked {
                Ok(Picked::Selected(entry)) => format!("+{}", entry.path),
                Ok(Picked::Special(entry)) => format!("!{}", entry.path),
                Ok(Picked::Excluded(entry)) => format!("-{}", entry.path),
            });
            picked.collect()
        };
        assert_eq!(
            run(&patterns(&["*.mrc"], &[])),
            ["+a", "+a/full", "+a/full/x.mrc", "-b/y.txt"]
        );
        let all = [
            "+a",
            "+a/empty",
            "+a/full",
            "+a/full/x.mrc",
            "+b",
            "-b/y.txt",
        ];
        assert_eq!(run(&patterns(&[], &["*.txt"])), all);
    }

    #[test]
    fn unusable_patterns_are_named() {
        let long = "x".repeat(1025);
        for bad in ["", "/", "//", "a[", "{a", &long] {
            assert!(
                matches!(
                    Filter::new(&patterns(&[bad], &[])),
                    Err(FilterError::Pattern { .. })
                ),
                "{bad}"
            );
        }
        let many = vec!["x"; 257];
        assert_eq!(
            Filter::new(&patterns(&many, &[])).map(|_| ()),
            Err(FilterError::TooMany)
        );
    }
}
