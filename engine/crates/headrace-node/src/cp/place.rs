//! The two places of a copy, as they are written on the command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use headrace_core::name::escape;

use crate::problem::{ControlCode, Problem};

/// Where something is, or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// On this machine.
    Here(PathBuf),
    /// On a machine that ssh reaches: `[user@]host:path`; no path is the home folder.
    Ssh { host: String, path: OsString },
    /// In a root of a standing node: `node://host:port/root/path`.
    Node {
        address: String,
        root: String,
        path: OsString,
    },
}

impl Place {
    /// Reads what was typed. Without a colon before its first slash it is a path here; `./a:b` is one, too.
    ///
    /// # Errors
    /// `bad_argument` says what is wrong.
    pub(crate) fn parse(text: &OsStr) -> Result<Self, Problem> {
        let bytes = text.as_bytes();
        let bad = |detail: &str| {
            let message = format!("`{}` is not a place: {detail}", escape(bytes));
            Problem::new(ControlCode::BadArgument, message)
        };
        if bytes.is_empty() {
            return Err(bad("it is empty; `.` is this folder"));
        }
        if let Some(rest) = bytes.strip_prefix(b"node://") {
            let (address, rest) = split(rest, b'/').ok_or_else(|| {
                bad("write `node://HOST:PORT/ROOT` or `node://HOST:PORT/ROOT/PATH`")
            })?;
            let (root, path) = split(rest, b'/').unwrap_or((rest, b""));
            let [address, root] =
                [address, root].map(|part| str::from_utf8(part).unwrap_or_default());
            if root.is_empty() || !address.contains(':') || address.chars().any(char::is_control) {
                return Err(bad(
                    "write `node://HOST:PORT/ROOT` or `node://HOST:PORT/ROOT/PATH`",
                ));
            }
            return Ok(Self::Node {
                address: address.to_owned(),
                root: root.to_owned(),
                path: OsStr::from_bytes(path).to_owned(),
            });
        }
        let Some((host, path)) = host_and_path(bytes) else {
            return Ok(Self::Here(PathBuf::from(text)));
        };
        let host = str::from_utf8(host).map_err(|_| bad("the name of its host is not text"))?;
        let odd = |character: char| character.is_whitespace() || character.is_control();
        if host.starts_with('-') || host.contains(odd) {
            return Err(bad("its host is not the name of one"));
        }
        Ok(Self::Ssh {
            host: host.to_owned(),
            path: OsStr::from_bytes(path).to_owned(),
        })
    }

    pub(crate) const fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Here(path) => f.write_str(&escape(path.as_os_str().as_bytes())),
            Self::Ssh { host, path } => write!(f, "{host}:{}", escape(path.as_bytes())),
            Self::Node {
                address,
                root,
                path,
            } => write!(f, "node://{address}/{root}/{}", escape(path.as_bytes())),
        }
    }
}

/// The parts before and after the first colon, when that comes before any slash. An IPv6 address is in brackets.
fn host_and_path(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(rest) = bytes.strip_prefix(b"[") {
        let (host, rest) = split(rest, b']')?;
        return Some((host, rest.strip_prefix(b":")?)).filter(|(host, _)| !host.is_empty());
    }
    let (host, path) = split(bytes, b':')?;
    (!host.is_empty() && !host.contains(&b'/')).then_some((host, path))
}

fn split(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..position], &bytes[position + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Place, String> {
        Place::parse(OsStr::new(text)).map_err(|problem| problem.code.into_owned())
    }

    fn ssh(host: &str, path: &str) -> Place {
        Place::Ssh {
            host: host.to_owned(),
            path: path.into(),
        }
    }

    #[test]
    fn a_colon_before_the_first_slash_makes_a_place_remote() {
        for here in ["a", "/a:b", "./a:b", "a/b:c", ":a", "[x", ".."] {
            assert_eq!(parse(here), Ok(Place::Here(here.into())), "{here}");
        }
        assert_eq!(parse("ada@dtn2:/data/x"), Ok(ssh("ada@dtn2", "/data/x")));
        assert_eq!(parse("dtn2:"), Ok(ssh("dtn2", "")));
        assert_eq!(parse("dtn2:a:b"), Ok(ssh("dtn2", "a:b")));
        assert_eq!(parse("[fe80::1%eth0]:x"), Ok(ssh("fe80::1%eth0", "x")));
        let node = Place::Node {
            address: "dtn2:8473".to_owned(),
            root: "data".to_owned(),
            path: "x/y".into(),
        };
        assert_eq!(parse("node://dtn2:8473/data/x/y"), Ok(node));
    }

    #[test]
    fn a_place_can_not_be_an_option_of_ssh() {
        for bad in [
            "",
            "-oProxyCommand=x:y",
            "a b:c",
            "node://",
            "node://host/root",
            "node://host:1",
            "node://host:1//x",
        ] {
            assert_eq!(parse(bad), Err("bad_argument".to_owned()), "{bad}");
        }
    }

    #[test]
    fn names_that_are_no_text_are_shown_escaped() {
        let place = Place::parse(OsStr::from_bytes(b"host:a\xff\x1b")).expect("a place");
        assert_eq!(place.to_string(), "host:a%FF%1B");
    }
}
