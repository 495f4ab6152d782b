//! From a path that somebody typed to the root and the path below it that a permit and a ticket can name.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use headrace_core::access::Access;
use headrace_core::entry::Kind;
use headrace_core::name::{RelPath, escape, unescape};

use super::greeting::{Found, Side, Wish};
use crate::accounts::Accounts;
use crate::config::RootConfig;
use crate::problem::{ControlCode, Problem};

/// One end of a copy on this machine.
#[derive(Debug, Clone)]
pub(super) struct Exported {
    pub(super) root: RootConfig,
    pub(super) path: RelPath,
    /// What is there, at a source.
    pub(super) found: Option<Found>,
}

/// Finds what is wished for: any path of this account, or a path below one of the `roots` that are given.
///
/// A folder's content lands at the destination path itself; with a slash at its end, or when a file is copied onto a
/// folder, it lands in the folder under its own name.
///
/// # Errors
/// `source_missing`, `source_unsupported`, `destination_missing`, `destination_not_directory`, `root_unknown`,
/// `folder_unreadable` or `bad_argument`.
pub(super) fn find(wish: &Wish, roots: Option<&[RootConfig]>) -> Result<Exported, Problem> {
    let bad =
        |error: &dyn std::fmt::Display| Problem::new(ControlCode::BadArgument, error.to_string());
    let typed = unescape(&wish.path).map_err(|error| bad(&error))?;
    let shown = escape(&typed);
    let (root, path) = match (&wish.root, roots) {
        (Some(name), Some(roots)) => {
            let unknown = || headrace_core::sealed::DocumentError::RootUnknown {
                root: escape(name.as_bytes()),
            };
            let root = roots.iter().find(|root| root.name == *name);
            let below: Vec<&[u8]> = typed
                .split(|byte| *byte == b'/')
                .filter(|part| !part.is_empty())
                .collect();
            let path = RelPath::from_bytes(&below.join(&b'/')).map_err(|error| bad(&error))?;
            (root.ok_or_else(unknown)?.clone(), path)
        }
        (None, None) => anywhere(wish.side, &typed, &shown)?,
        _ => {
            return Err(bad(
                &"this node exports named roots: write `node://HOST:PORT/ROOT/PATH`",
            ));
        }
    };
    match wish.side {
        Side::Source => source(root, path, &typed, &shown),
        Side::Destination => destination(root, path, wish.source.as_ref(), &typed, &shown),
    }
}

fn source(root: RootConfig, path: RelPath, typed: &[u8], shown: &str) -> Result<Exported, Problem> {
    let kind = kind(&root, &path, shown)?.ok_or_else(|| nothing_at(shown))?;
    if kind == Kind::Other {
        let message = format!("`{shown}` is not a file, folder or symlink");
        return Err(Problem::new(ControlCode::SourceUnsupported, message));
    }
    // The name that was typed, which may be a symlink's; `.` and `..` have the name of the folder they mean.
    let name = Path::new(OsStr::from_bytes(typed))
        .file_name()
        .filter(|_| !typed.is_empty());
    let name = name.map(OsStr::as_bytes).or(path.file_name());
    let name = name
        .or(root.path.file_name().map(OsStr::as_bytes))
        .unwrap_or_default();
    let name = RelPath::from_bytes(name)
        .map_err(|error| Problem::new(ControlCode::BadArgument, error.to_string()))?;
    Ok(Exported {
        root,
        path,
        found: Some(Found { kind, name }),
    })
}

fn destination(
    root: RootConfig,
    path: RelPath,
    source: Option<&Found>,
    typed: &[u8],
    shown: &str,
) -> Result<Exported, Problem> {
    let bad = |detail: String| Problem::new(ControlCode::BadArgument, detail);
    let source = source.ok_or_else(|| bad("a destination without a source".to_owned()))?;
    let there = kind(&root, &path, shown)?;
    // A typing mistake must not make a whole new tree.
    if there.is_none()
        && let Some(above) = path.parent()
        && kind(&root, &above, shown)? != Some(Kind::Dir)
    {
        return Err(no_folder(shown));
    }
    let slash = typed.ends_with(b"/");
    if slash && there.is_some_and(|kind| kind != Kind::Dir) {
        let message = format!("`{shown}` is not a folder");
        return Err(Problem::new(ControlCode::DestinationNotDirectory, message));
    }
    let into = slash || (there == Some(Kind::Dir) && source.kind != Kind::Dir);
    let path = if into {
        path.join_path(&source.name)
            .map_err(|error| bad(error.to_string()))?
    } else {
        path
    };
    Ok(Exported {
        root,
        path,
        found: None,
    })
}

/// Any path of this account. A source folder is its own root; the root of anything else is the folder that it is in, so
/// that a copy which is resumed finds the same, whether its destination is there by now or not.
fn anywhere(side: Side, typed: &[u8], shown: &str) -> Result<(RootConfig, RelPath), Problem> {
    let access = match side {
        Side::Source => Access::Read,
        Side::Destination => Access::Write,
    };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if side == Side::Source => {
            nothing_at(shown)
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => no_folder(shown),
        _ => unreadable(shown, &error),
    };
    let path = expand(typed);
    let followed = std::fs::metadata(&path);
    let whole = match side {
        Side::Source => path.canonicalize().map_err(failed)?,
        Side::Destination if followed.as_ref().is_ok_and(std::fs::Metadata::is_dir) => {
            path.canonicalize().map_err(failed)?
        }
        Side::Destination => {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            let folder = folder
                .unwrap_or(Path::new("."))
                .canonicalize()
                .map_err(failed)?;
            match path.file_name() {
                Some(name) => folder.join(name),
                None => return Err(failed(io::ErrorKind::NotFound.into())),
            }
        }
    };
    let own_root = side == Side::Source && whole.is_dir();
    let (folder, name) = match (whole.parent(), whole.file_name()) {
        (Some(folder), Some(name)) if !own_root => (folder.to_owned(), name.as_bytes().to_vec()),
        _ => (whole, Vec::new()),
    };
    let path = RelPath::from_bytes(&name)
        .map_err(|error| Problem::new(ControlCode::BadArgument, error.to_string()))?;
    let root = RootConfig {
        name: side.as_str().to_owned(),
        path: folder,
        access,
        authorities: None,
        accounts: Accounts::Node,
    };
    Ok((root, path))
}

/// The path that is meant: `~/` is the home folder as in a shell, nothing is the folder we are in.
fn expand(typed: &[u8]) -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    match typed {
        b"" => PathBuf::from("."),
        b"~" => home(),
        [b'~', b'/', rest @ ..] => home().join(OsStr::from_bytes(rest)),
        typed => PathBuf::from(OsStr::from_bytes(typed)),
    }
}

fn kind(root: &RootConfig, path: &RelPath, shown: &str) -> Result<Option<Kind>, Problem> {
    let entry = root.open()?.entry(path);
    let entry = entry.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
        _ => Err(unreadable(shown, &error)),
    })?;
    Ok(entry.map(|entry| entry.kind))
}

fn nothing_at(shown: &str) -> Problem {
    let message = format!("there is nothing at `{shown}`");
    Problem::new(ControlCode::SourceMissing, message)
}

fn no_folder(shown: &str) -> Problem {
    let message = format!("the folder that `{shown}` is in does not exist: make it first");
    Problem::new(ControlCode::DestinationMissing, message)
}

fn unreadable(shown: &str, error: &io::Error) -> Problem {
    let message = format!("`{shown}` can't be looked at: {error}");
    Problem::new(ControlCode::FolderUnreadable, message)
}
