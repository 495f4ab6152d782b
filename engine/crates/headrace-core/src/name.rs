//! Names inside a root: components and relative paths, parsed once and safe to open afterwards.
//!
//! A [`RelPath`] never holds an empty component, `.`, `..`, `/` or NUL, so it can't leave the folder it is opened
//! in. Paths are bytes; in JSON they are arrays of strings in which bytes that are not UTF-8, control characters and
//! `%` are written `%XX`. Nothing is normalised, and order is by raw bytes, component by component.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::{is_unseen, visible};

/// Longest single name, in bytes (the limit of Linux).
pub const MAX_COMPONENT_BYTES: usize = 255;
/// Longest path, in bytes with one separator between components.
pub const MAX_PATH_BYTES: usize = 4096;
/// Most components in a path.
pub const MAX_DEPTH: usize = 256;
/// Names with this start are the engine's temporaries: never listed, never copied.
pub const PART_PREFIX: &[u8] = b".headrace-part-";
/// The folder below a root that holds what transfers deleted there: never listed, never copied along, never written to by a plan.
pub const TRASH_NAME: &[u8] = b".headrace-trash";

/// Whether nodes keep this name for themselves, in whatever spelling: storage may tell no case apart, may write what looks
/// alike in one way (ZFS, ext4 and exFAT can, a share of Windows does), may pass over what is not seen, and dots and spaces at the end,
/// and may find a name by a short one (FAT, a share of Windows: `HEADRA~1`).
#[must_use]
pub fn is_reserved(name: &[u8]) -> bool {
    match name.first() {
        Some(b'h' | b'H') => is_short(name),
        // Control characters are not seen, wherever they stand.
        Some(b'.' | ..=0x1f | 0x7f..) => {
            let text = String::from_utf8_lossy(name);
            spells(&text, TRASH_NAME, Extent::Whole)
                || spells(&text, PART_PREFIX, Extent::Beginning)
        }
        // Most names need no second look.
        _ => false,
    }
}

/// Whether a name may be the short one that FAT makes of a reserved name: `HEADRA~1`, `HEADR~10`, or with a hash, `HE1A2B~1`.
fn is_short(name: &[u8]) -> bool {
    let end = name.iter().rposition(|byte| !matches!(byte, b'.' | b' '));
    let lower = name[..end.map_or(0, |last| last + 1)].to_ascii_lowercase();
    let Some(at) = lower.iter().position(|byte| *byte == b'~') else {
        return false;
    };
    let (begin, number) = (&lower[..at], &lower[at + 1..]);
    let hashed = begin
        .strip_prefix(b"he")
        .is_some_and(|hash| hash.len() == 4 && hash.iter().all(u8::is_ascii_hexdigit));
    number.iter().all(u8::is_ascii_digit)
        && match number.len() {
            1 => hashed || begin == b"headra",
            2 => begin == b"headr",
            _ => false,
        }
}

/// Whether a name is one that nodes keep for themselves, and not spelled as they do: storage may find theirs by it.
fn is_disguised(name: &[u8]) -> bool {
    is_reserved(name) && name != TRASH_NAME && !name.starts_with(PART_PREFIX)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    Beginning,
}

/// Whether a text is another spelling of the whole of `wanted`, or begins with one.
fn spells(text: &str, wanted: &[u8], extent: Extent) -> bool {
    let mut rest = wanted;
    for character in text.chars().filter(|character| !is_unseen(*character)) {
        if rest.is_empty() {
            if extent == Extent::Beginning {
                return true;
            }
            if !matches!(character, '.' | ' ') && !ENDS.contains(character) {
                return false;
            }
            continue;
        }
        let lower = [u8::try_from(character).map_or(0, |byte| byte.to_ascii_lowercase())];
        let mut alike = ALIKE.iter().filter(|_| !character.is_ascii());
        let plain = alike
            .find(|(_, alike)| alike.contains(character))
            .map_or(&lower[..], |(plain, _)| plain.as_bytes());
        let Some(after) = rest.strip_prefix(plain) else {
            return false;
        };
        rest = after;
    }
    rest.is_empty()
}

/// Characters of which Unicode's compatibility makes dots alone (a test in Python computes them).
const ENDS: &str = "․‥…︙︰﹒．";

/// Characters that Unicode's compatibility and case folding make of reserved names' parts (a test in Python computes them).
const ALIKE: &[(&str, &str)] = &[
    ("-", "﹣－"),
    (".", "․﹒．"),
    ("a", "ªᴬᵃₐⒶⓐＡａ𝐀𝐚𝐴𝑎𝑨𝒂𝒜𝒶𝓐𝓪𝔄𝔞𝔸𝕒𝕬𝖆𝖠𝖺𝗔𝗮𝘈𝘢𝘼𝙖𝙰𝚊🄰"),
    ("c", "ᶜℂℭⅭⅽⒸⓒꟲＣｃ𝐂𝐜𝐶𝑐𝑪𝒄𝒞𝒸𝓒𝓬𝔠𝕔𝕮𝖈𝖢𝖼𝗖𝗰𝘊𝘤𝘾𝙘𝙲𝚌🄫🄲"),
    ("d", "ᴰᵈⅅⅆⅮⅾⒹⓓＤｄ𝐃𝐝𝐷𝑑𝑫𝒅𝒟𝒹𝓓𝓭𝔇𝔡𝔻𝕕𝕯𝖉𝖣𝖽𝗗𝗱𝘋𝘥𝘿𝙙𝙳𝚍🄳"),
    ("e", "ᴱᵉₑℯℰⅇⒺⓔＥｅ𝐄𝐞𝐸𝑒𝑬𝒆𝓔𝓮𝔈𝔢𝔼𝕖𝕰𝖊𝖤𝖾𝗘𝗲𝘌𝘦𝙀𝙚𝙴𝚎🄴"),
    ("h", "ʰᴴₕℋℌℍℎⒽⓗＨｈ𝐇𝐡𝐻𝑯𝒉𝒽𝓗𝓱𝔥𝕙𝕳𝖍𝖧𝗁𝗛𝗵𝘏𝘩𝙃𝙝𝙷𝚑🄷"),
    ("p", "ᴾᵖₚℙⓅⓟＰｐ𝐏𝐩𝑃𝑝𝑷𝒑𝒫𝓅𝓟𝓹𝔓𝔭𝕡𝕻𝖕𝖯𝗉𝗣𝗽𝘗𝘱𝙋𝙥𝙿𝚙🄿"),
    ("pa", "㎀㎩"),
    ("r", "ʳᴿᵣℛℜℝⓇⓡＲｒ𝐑𝐫𝑅𝑟𝑹𝒓𝓇𝓡𝓻𝔯𝕣𝕽𝖗𝖱𝗋𝗥𝗿𝘙𝘳𝙍𝙧𝚁𝚛🄬🅁"),
    ("s", "ſˢₛⓈⓢＳｓ𝐒𝐬𝑆𝑠𝑺𝒔𝒮𝓈𝓢𝓼𝔖𝔰𝕊𝕤𝕾𝖘𝖲𝗌𝗦𝘀𝘚𝘴𝙎𝙨𝚂𝚜🅂"),
    ("t", "ᵀᵗₜⓉⓣＴｔ𝐓𝐭𝑇𝑡𝑻𝒕𝒯𝓉𝓣𝓽𝔗𝔱𝕋𝕥𝕿𝖙𝖳𝗍𝗧𝘁𝘛𝘵𝙏𝙩𝚃𝚝🅃"),
];

/// Why bytes or text are not a usable name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// A component without bytes.
    #[error("a path component is empty")]
    Empty,
    /// `.` or `..`.
    #[error("`.` and `..` are not allowed in a path")]
    Dots,
    /// A component with `/` or NUL inside.
    #[error("a path component holds `/` or NUL")]
    Separator,
    /// More than [`MAX_COMPONENT_BYTES`].
    #[error("a path component is longer than {MAX_COMPONENT_BYTES} bytes")]
    ComponentTooLong,
    /// More than [`MAX_PATH_BYTES`].
    #[error("a path is longer than {MAX_PATH_BYTES} bytes")]
    PathTooLong,
    /// More than [`MAX_DEPTH`] components.
    #[error("a path is deeper than {MAX_DEPTH} components")]
    TooDeep,
    /// `%` that is not followed by two hexadecimal digits.
    #[error("`%` in an escaped name is not followed by two hexadecimal digits")]
    Escape,
}

/// One name: 1 to 255 bytes, not `.` or `..`, without `/` and NUL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Component(Box<[u8]>);

impl Component {
    /// Checks raw bytes, for example from a directory listing.
    ///
    /// # Errors
    /// Says which rule the bytes break.
    pub fn new(bytes: &[u8]) -> Result<Self, NameError> {
        check_component(bytes)?;
        Ok(Self(bytes.into()))
    }

    /// Reads the escaped form used in JSON.
    ///
    /// # Errors
    /// As [`Component::new`], and for a broken escape.
    pub fn from_escaped(text: &str) -> Result<Self, NameError> {
        Self::new(&unescape(text)?)
    }

    /// The raw bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The form used in JSON.
    #[must_use]
    pub fn escaped(&self) -> String {
        escape(&self.0)
    }

    /// Whether this is the name of one of our temporaries.
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.0.starts_with(PART_PREFIX)
    }
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.escaped())
    }
}

/// A path below some folder, possibly the folder itself (no components).
///
/// Kept as one allocation with `/` between components, so that it can be handed to the operating system as it is.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct RelPath(Box<[u8]>);

impl RelPath {
    /// The folder itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads raw bytes with `/` between components; no bytes at all is the folder itself.
    ///
    /// # Errors
    /// Says which rule the bytes break; a leading, trailing or doubled `/` is an empty component.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NameError> {
        if bytes.is_empty() {
            return Ok(Self::root());
        }
        if bytes.len() > MAX_PATH_BYTES {
            return Err(NameError::PathTooLong);
        }
        let mut depth = 0;
        for component in bytes.split(|byte| *byte == b'/') {
            check_component(component)?;
            depth += 1;
        }
        if depth > MAX_DEPTH {
            return Err(NameError::TooDeep);
        }
        Ok(Self(bytes.into()))
    }

    /// Joins raw components.
    ///
    /// # Errors
    /// Says which rule a component or the whole path breaks.
    pub fn from_components<'a>(
        components: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, NameError> {
        let mut builder = Builder::default();
        for component in components {
            builder.push(component)?;
        }
        Ok(builder.finish())
    }

    /// Joins escaped components, as they stand in JSON.
    ///
    /// # Errors
    /// As [`RelPath::from_components`], and for a broken escape.
    pub fn from_escaped<'a>(
        components: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, NameError> {
        let mut builder = Builder::default();
        for component in components {
            builder.push(&unescape(component)?)?;
        }
        Ok(builder.finish())
    }

    /// This path with one more name.
    ///
    /// # Errors
    /// When the result is too long or too deep.
    pub fn join(&self, name: &Component) -> Result<Self, NameError> {
        let mut builder = Builder::from(self);
        builder.push(name.as_bytes())?;
        Ok(builder.finish())
    }

    /// This path followed by another.
    ///
    /// # Errors
    /// When the result is too long or too deep.
    pub fn join_path(&self, below: &Self) -> Result<Self, NameError> {
        if self.is_root() || below.is_root() {
            let whole = if self.is_root() { below } else { self };
            return Ok(whole.clone());
        }
        // Every component was checked when it became part of a path.
        if self.depth() + below.depth() > MAX_DEPTH {
            return Err(NameError::TooDeep);
        }
        let joined = [&*self.0, b"/", &*below.0].concat();
        if joined.len() > MAX_PATH_BYTES {
            return Err(NameError::PathTooLong);
        }
        Ok(Self(joined.into()))
    }

    /// The raw bytes with `/` between components; empty for the folder itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same bytes for the standard library; `.` is not added for the folder itself.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The components, outermost first.
    #[must_use]
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> + Clone {
        self.0
            .split(|byte| *byte == b'/')
            .filter(|component| !component.is_empty())
    }

    /// How many components.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.components().count()
    }

    /// Whether this is the folder itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last name; `None` for the folder itself.
    #[must_use]
    pub fn file_name(&self) -> Option<&[u8]> {
        self.components().next_back()
    }

    /// The path without its last name; `None` for the folder itself.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        (!self.is_root()).then(|| Self(self.parent_bytes().into()))
    }

    /// The bytes of [`RelPath::parent`]; none for the folder itself.
    #[must_use]
    pub fn parent_bytes(&self) -> &[u8] {
        let end = self.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        &self.0[..end]
    }

    /// What is left below `prefix`; `None` when this path is not at or below it.
    #[must_use]
    pub fn strip_prefix(&self, prefix: &Self) -> Option<Self> {
        if prefix.is_root() {
            return Some(self.clone());
        }
        match self.0.strip_prefix(&*prefix.0)? {
            [] => Some(Self::root()),
            [b'/', rest @ ..] => Some(Self(rest.into())),
            _ => None,
        }
    }

    /// Whether this path is `prefix` or below it.
    #[must_use]
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.strip_prefix(prefix).is_some()
    }

    /// Whether any component is a name that nodes keep for themselves: of a temporary, or of a trash.
    #[must_use]
    pub fn has_part(&self) -> bool {
        self.components().any(is_reserved)
    }

    /// Whether any component is another spelling of a name that nodes keep for themselves.
    #[must_use]
    pub fn is_disguised(&self) -> bool {
        self.components().any(is_disguised)
    }

    /// The escaped components joined by `/`: the form that is stored and sent.
    #[must_use]
    pub fn escaped(&self) -> String {
        // Escaping never touches `/`, and the bytes between separators are escaped independently.
        escape(&self.0)
    }
}

/// For people: escaped, and with every unseen character written out.
impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.escaped()))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.escaped())
    }
}

/// By raw bytes, component by component: a folder comes right before what it holds.
impl Ord for RelPath {
    fn cmp(&self, other: &Self) -> Ordering {
        // Equal to comparing component lists: `/` counts as lower than every byte a name may hold.
        let rank = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
        self.0.iter().map(rank).cmp(other.0.iter().map(rank))
    }
}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(None)?;
        for component in self.components() {
            sequence.serialize_element(&escape(component))?;
        }
        sequence.end()
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Components;
        impl<'de> Visitor<'de> for Components {
            type Value = RelPath;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of escaped path components")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<RelPath, A::Error> {
                let mut builder = Builder::default();
                while let Some(text) = sequence.next_element::<String>()? {
                    let bytes = unescape(&text).map_err(serde::de::Error::custom)?;
                    builder.push(&bytes).map_err(serde::de::Error::custom)?;
                }
                Ok(builder.finish())
            }
        }
        deserializer.deserialize_seq(Components)
    }
}

/// Writes bytes that are not UTF-8, control characters and `%` as `%XX`; the rest stays as it is.
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() || character == '%' {
                push_escaped(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                text.push(character);
            }
        }
        push_escaped(&mut text, chunk.invalid());
    }
    text
}

/// The reverse of [`escape`]; any byte may be written as `%XX`.
///
/// # Errors
/// [`NameError::Escape`] for `%` without two hexadecimal digits after it.
pub fn unescape(text: &str) -> Result<Vec<u8>, NameError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let [high, low, tail @ ..] = rest else {
            return Err(NameError::Escape);
        };
        let value = hex_digit(*high)
            .zip(hex_digit(*low))
            .ok_or(NameError::Escape)?;
        bytes.push(value.0 << 4 | value.1);
        rest = tail;
    }
    Ok(bytes)
}

fn check_component(bytes: &[u8]) -> Result<(), NameError> {
    match bytes {
        [] => Err(NameError::Empty),
        b"." | b".." => Err(NameError::Dots),
        _ if bytes.len() > MAX_COMPONENT_BYTES => Err(NameError::ComponentTooLong),
        _ if bytes.iter().any(|byte| matches!(byte, b'/' | 0)) => Err(NameError::Separator),
        _ => Ok(()),
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

fn push_escaped(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        text.push('%');
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Collects components under the limits of a path.
#[derive(Default)]
struct Builder {
    bytes: Vec<u8>,
    depth: usize,
}

impl Builder {
    fn push(&mut self, component: &[u8]) -> Result<(), NameError> {
        check_component(component)?;
        if self.depth == MAX_DEPTH {
            return Err(NameError::TooDeep);
        }
        let separator = usize::from(self.depth > 0);
        if self.bytes.len() + separator + component.len() > MAX_PATH_BYTES {
            return Err(NameError::PathTooLong);
        }
        if separator == 1 {
            self.bytes.push(b'/');
        }
        self.bytes.extend_from_slice(component);
        self.depth += 1;
        Ok(())
    }

    fn finish(self) -> RelPath {
        RelPath(self.bytes.into())
    }
}

impl From<&RelPath> for Builder {
    fn from(path: &RelPath) -> Self {
        Self {
            bytes: path.0.to_vec(),
            depth: path.depth(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::from_bytes(text.as_bytes()).expect("a test path")
    }

    #[test]
    fn names_that_could_leave_their_folder_are_refused() {
        for (bytes, error) in [
            (&b""[..], NameError::Empty),
            (b".", NameError::Dots),
            (b"..", NameError::Dots),
            (b"a/b", NameError::Separator),
            (b"a\0b", NameError::Separator),
            (&[b'x'; 256], NameError::ComponentTooLong),
        ] {
            assert_eq!(Component::new(bytes), Err(error.clone()));
            assert_eq!(RelPath::from_components([&b"ok"[..], bytes]), Err(error));
        }
        for bytes in [&b"/etc"[..], b"a//b", b"a/", b"a/../b", b"./a"] {
            assert!(RelPath::from_bytes(bytes).is_err());
        }
    }

    #[test]
    fn long_and_deep_paths_are_refused() {
        assert_eq!(
            RelPath::from_components(vec![&b"d"[..]; 257]),
            Err(NameError::TooDeep)
        );
        assert_eq!(
            RelPath::from_bytes(&[&b"d/".repeat(256)[..], b"d"].concat()),
            Err(NameError::TooDeep)
        );
        assert_eq!(
            RelPath::from_components(vec![&[b'x'; 255][..]; 17]),
            Err(NameError::PathTooLong)
        );
        let longest = RelPath::from_components(vec![&[b'x'; 255][..]; 16]).expect("4,095 bytes");
        assert_eq!(
            longest.join(&Component::new(b"y").expect("a name")),
            Err(NameError::PathTooLong)
        );
    }

    #[test]
    fn odd_bytes_are_escaped_and_shown() {
        let name = Component::new(b"caf\xc3\xa9 100%\n\xff").expect("a name");
        assert_eq!(name.escaped(), "café 100%25%0A%FF");
        assert_eq!(Component::from_escaped("caf%C3%A9 100%25%0a%FF"), Ok(name));
        assert_eq!(Component::from_escaped("100%"), Err(NameError::Escape));
        assert_eq!(Component::from_escaped("%2F"), Err(NameError::Separator));
    }

    #[test]
    fn invariant_4_a_path_that_would_turn_text_around_is_shown_written_out() {
        let turned = path("invoice\u{202E}fdp.exe");
        assert_eq!(turned.to_string(), r"invoice\u{202E}fdp.exe");
        assert_eq!(
            turned.escaped(),
            "invoice\u{202E}fdp.exe",
            "what is stored stays"
        );
    }

    #[test]
    fn prefixes_end_at_component_borders() {
        assert_eq!(path("a/b").strip_prefix(&path("a")), Some(path("b")));
        assert_eq!(path("ab").strip_prefix(&path("a")), None);
        assert_eq!(path("a").strip_prefix(&path("a")), Some(RelPath::root()));
        assert_eq!(path("a").parent(), Some(RelPath::root()));
        assert_eq!(path("a/b").file_name(), Some(&b"b"[..]));
        assert!(path("a").starts_with(&RelPath::root()));
    }

    #[test]
    fn a_reserved_name_is_one_in_every_spelling_that_storage_may_take_for_it() {
        let text = include_str!("../../../../conformance/text/reserved.json");
        let cases: std::collections::HashMap<String, bool> =
            serde_json::from_str(text).expect("the cases");
        for (name, reserved) in cases {
            let exact = name == ".headrace-trash" || name.starts_with(".headrace-part-");
            assert_eq!(is_reserved(name.as_bytes()), reserved, "{name:?}");
            let there = path(&format!("raw/{name}/x"));
            assert_eq!(there.has_part(), reserved, "{name:?}");
            assert_eq!(there.is_disguised(), reserved && !exact, "{name:?}");
        }
    }

    fn components() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let byte = prop_oneof![Just(b' '), Just(b'.'), Just(b'0'), Just(b'a'), 1..=255_u8];
        prop::collection::vec(prop::collection::vec(byte, 1..5), 0..5)
            .prop_filter("usable names", |all| {
                all.iter().all(|name| check_component(name).is_ok())
            })
    }

    fn of(components: &[Vec<u8>]) -> RelPath {
        RelPath::from_components(components.iter().map(Vec::as_slice)).expect("usable names")
    }

    proptest! {
        #[test]
        fn every_path_survives_json(components in components()) {
            let path = of(&components);
            let json = serde_json::to_string(&path).expect("paths are serialisable");
            prop_assert_eq!(serde_json::from_str::<RelPath>(&json).expect("the same path"), path.clone());
            prop_assert_eq!(unescape(&path.escaped()).expect("own escapes"), path.as_bytes());
            prop_assert_eq!(path.depth(), components.len());
        }

        #[test]
        fn order_is_that_of_component_lists(left in components(), right in components()) {
            prop_assert_eq!(of(&left).cmp(&of(&right)), left.cmp(&right));
        }
    }
}
