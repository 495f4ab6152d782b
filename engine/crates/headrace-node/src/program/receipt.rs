//! `receipt verify`: checks a receipt without any service.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use headrace_core::access::Access;
use headrace_core::entry::Kind;
use headrace_core::list::MAX_LINE_BYTES;
use headrace_core::name::RelPath;
use headrace_core::sealed::{Document, DocumentType, MAX_DOCUMENT_BYTES, PublicKey};
use headrace_core::statement::{Kept, Role, Statement};
use headrace_core::text::visible;
use headrace_core::value::{Digest, decimal};
use headrace_io::root::Root;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Digest as _;

use super::{Exit, Out};
use crate::problem::{ControlCode, Problem};

/// Differences that are named at most.
const MAX_SHOWN: usize = 100;

#[derive(Subcommand)]
pub(super) enum Receipt {
    /// Check the signatures of a receipt and of the nodes' statements in it, offline.
    Verify(Verify),
}

#[derive(Args)]
pub(super) struct Verify {
    /// The receipt, as the service gave it.
    file: PathBuf,
    /// The list of files (files.jsonl): its digest must be the one that the destination node signed.
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Read the destination again and compare it with the list: contents, sizes, kinds, deletions.
    #[arg(long, value_name = "DIR", requires = "list")]
    root: Option<PathBuf>,
    /// The key that must have signed the receipt; without it, any key is accepted and named.
    #[arg(long, value_name = "PUBLIC")]
    key: Option<PublicKey>,
}

/// Of a receipt, what is checked here; the rest is for people.
#[derive(Deserialize)]
struct Claims {
    id: String,
    transfer: String,
    plan_digest: Digest,
    statements: Vec<String>,
    /// What was asked for, in a receipt of a service.
    canonical_sentence: Option<Value>,
    /// From where, in a receipt of `cp`.
    source: Option<Value>,
    /// To where, in a receipt of `cp`.
    destination: Option<Value>,
}

impl Claims {
    /// What was moved from where to where, as the receipt says it.
    fn what(&self) -> Option<String> {
        let text = |value: &Option<Value>| Some(visible(value.as_ref()?.as_str()?).to_string());
        text(&self.canonical_sentence).or_else(|| {
            Some(format!(
                "copy {} to {}",
                text(&self.source)?,
                text(&self.destination)?
            ))
        })
    }
}

/// One line of files.jsonl.
#[derive(Deserialize)]
struct Line {
    blake3: String,
    path: RelPath,
    result: String,
    #[serde(with = "decimal")]
    size: u64,
    #[serde(rename = "type")]
    kind: Kind,
}

impl Receipt {
    pub(super) fn run(self, out: &Out) -> Result<Exit, Problem> {
        let Self::Verify(verify) = self;
        verify.run(out)
    }
}

impl Verify {
    fn run(&self, out: &Out) -> Result<Exit, Problem> {
        let text = read_text(&self.file)?;
        let document = Document::parse(&text, DocumentType::Receipt)?;
        let keys = document.keys();
        if let Some(key) = self.key
            && !keys.contains(&key)
        {
            return Err(wrong(&format!(
                "it is NOT signed by the key that you gave, {key}. It names {}. Give the key of the service that made it \
                 (`headrace health --json` says it as `key`; one that was replaced is in its audit log), or do not trust it",
                listed(&keys)
            )));
        }
        let accepted = self.key.map_or(keys, |key| vec![key]);
        let signers = document.signers(&accepted)?;
        let claims: Claims = document.claims()?;
        let statements = statements(&claims)?;
        let destination = statements
            .iter()
            .find(|statement| statement.role == Role::Destination);
        let destination =
            destination.ok_or_else(|| wrong("the destination node states nothing in it"))?;
        let mut differences = Vec::new();
        let mut compared = 0;
        if let Some(list) = &self.list {
            check_list(list, destination)?;
            if let Some(folder) = &self.root {
                compared = compare(list, folder, &mut differences)?;
            }
        }
        self.say(
            out,
            &claims,
            &signers,
            &statements,
            (compared, &differences),
        );
        Ok(if differences.is_empty() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }

    fn say(
        &self,
        out: &Out,
        claims: &Claims,
        signers: &[PublicKey],
        statements: &[Statement],
        (compared, differences): (u64, &[String]),
    ) {
        let said = |statement: &Statement| {
            json!({
                "role": statement.role, "node": statement.node, "outcome": statement.outcome,
                "files": statement.files.to_string(), "bytes": statement.bytes.to_string(),
                "verified": statement.verified, "encrypted": statement.encrypted, "deleted": statement.deleted.to_string(),
                "started": statement.started, "ended": statement.ended, "sources_kept": statement.sources_kept,
                "trash": statement.trash,
            })
        };
        let document = json!({
            "valid": differences.is_empty(), "receipt": claims.id, "transfer": claims.transfer, "signed_by": signers,
            "key_was_given": self.key.is_some(), "statements": statements.iter().map(said).collect::<Vec<Value>>(),
            "list_checked": self.list.is_some(), "compared": compared, "differences": differences,
        });
        let verdict = if !differences.is_empty() {
            "DIFFERS: the receipt is whole, and what is there is not what it says"
        } else if self.key.is_some() {
            "Valid"
        } else {
            "Whole, and signed by whom it names"
        };
        let mut lines = vec![format!(
            "{verdict}: receipt {} of transfer {}, signed by {}",
            claims.id,
            claims.transfer,
            listed(signers)
        )];
        lines.extend(claims.what().map(|what| format!("  {what}")));
        lines.push(match &self.key {
            Some(key) => format!("  checked with {key}, which you gave with `--key`"),
            None => "  checked with the key that the receipt itself names: it is whole, but anybody may \
                     have signed it; to check that your service did, give `--key` and its key \
                     (`headrace health --json` says it as `key`)"
                .to_owned(),
        });
        for Statement {
            role,
            node,
            files,
            bytes,
            failed,
            deleted,
            encrypted,
            ended,
            sources_kept,
            trash,
            ..
        } in statements
        {
            let role = if *role == Role::Source {
                "source"
            } else {
                "destination"
            };
            lines.push(format!(
                "{role} node {node}, {ended}: {}, {bytes} bytes, {failed} failed, {deleted} deleted, {}",
                files_of(*files),
                way(*encrypted, statements)
            ));
            lines.extend(sources_kept.iter().flatten().map(stays));
            lines.extend(trash.iter().map(|folder| {
                format!("  what was deleted there is in `.headrace-trash/{folder}` of its root")
            }));
        }
        if self.list.is_some() {
            lines.push("the list of files is the one the destination signed".to_owned());
        }
        if self.root.is_some() {
            lines.push(format!(
                "{compared} names compared, {} differ",
                differences.len()
            ));
            lines.extend(
                differences
                    .iter()
                    .map(|difference| format!("  {difference}")),
            );
        }
        out.say(&document, &lines.join("\n"));
    }
}

/// What protected the bytes on their way; one node that held both ends moved them inside its process.
fn way(encrypted: bool, statements: &[Statement]) -> &'static str {
    if encrypted {
        "encrypted on the way"
    } else if statements
        .windows(2)
        .all(|pair| pair[0].node == pair[1].node)
    {
        "inside one host, sent over no network"
    } else {
        "NOT encrypted on the way"
    }
}

fn files_of(count: u64) -> String {
    format!("{count} {}", if count == 1 { "file" } else { "files" })
}

/// The keys, as people copy them.
fn listed(keys: &[PublicKey]) -> String {
    if keys.is_empty() {
        return "nobody".to_owned();
    }
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// What a source's node says of files that a move left there.
fn stays(kept: &Kept) -> String {
    let Kept {
        count,
        detail,
        names,
        ..
    } = kept;
    let names: Vec<_> = names
        .iter()
        .take(MAX_SHOWN)
        .map(|name| format!("`{}`", visible(name)))
        .collect();
    format!(
        "  {count} sources stay: {} ({})",
        visible(detail),
        names.join(", ")
    )
}

/// The statements in a receipt, each verified with the key of the node that it names.
fn statements(claims: &Claims) -> Result<Vec<Statement>, Problem> {
    let verify = |text: &String| {
        let named: Statement = Document::parse(text, DocumentType::Statement)?.claims()?;
        let statement = Statement::verify(text, named.node)?;
        if statement.transfer.as_str() != claims.transfer
            || statement.plan_digest != claims.plan_digest
        {
            return Err(wrong("a statement in it is of another transfer or plan"));
        }
        Ok(statement)
    };
    claims.statements.iter().map(verify).collect()
}

fn check_list(list: &Path, destination: &Statement) -> Result<(), Problem> {
    let mut file = open(list)?;
    let (mut sha256, mut blake3) = (sha2::Sha256::new(), blake3::Hasher::new());
    let mut buffer = vec![0; 256 << 10];
    loop {
        let length = file
            .read(&mut buffer)
            .map_err(|error| unreadable(list, &error))?;
        if length == 0 {
            break;
        }
        sha256.update(&buffer[..length]);
        blake3.update(&buffer[..length]);
    }
    let digests = (
        Digest(sha256.finalize().into()),
        Digest(*blake3.finalize().as_bytes()),
    );
    if digests != (destination.list_digest, destination.root) {
        return Err(wrong(&format!(
            "`{}` is not the list that the destination signed",
            list.display()
        )));
    }
    Ok(())
}

/// Compares what is there with a list that was checked; gives how many names were looked at.
fn compare(list: &Path, folder: &Path, differences: &mut Vec<String>) -> Result<u64, Problem> {
    // A transfer of one file has a list with the empty path: then the folder is where the file lies.
    let is_file = !folder.is_dir();
    let (parent, name) = if is_file {
        let name = folder
            .file_name()
            .ok_or_else(|| wrong("`--root` has no name"))?;
        (
            folder
                .parent()
                .filter(|parent| *parent != Path::new(""))
                .unwrap_or(Path::new(".")),
            name.as_encoded_bytes(),
        )
    } else {
        (folder, &b""[..])
    };
    let base = RelPath::from_bytes(name).map_err(|error| wrong(&error.to_string()))?;
    let bad =
        |error: &dyn std::fmt::Display| Problem::new(ControlCode::BadArgument, error.to_string());
    let root = Root::open("receipt", parent, Access::Read).map_err(|error| bad(&error))?;
    let mut lines = BufReader::new(open(list)?);
    let mut compared = 0;
    loop {
        let mut bytes = Vec::new();
        let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        let read = lines.by_ref().take(limit).read_until(b'\n', &mut bytes);
        if read.map_err(|error| unreadable(list, &error))? == 0 {
            return Ok(compared);
        }
        let line: Line = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(&format!("a line of the list: {error}")))?;
        let path = base
            .join_path(&line.path)
            .map_err(|error| wrong(&error.to_string()))?;
        compared += 1;
        let difference =
            difference(&root, &path, &line).unwrap_or_else(|error| Some(error.to_string()));
        if let Some(difference) = difference
            && differences.len() < MAX_SHOWN
        {
            differences.push(format!("{}: {difference}", line.path));
        }
    }
}

/// What is not as the list says, if anything.
fn difference(root: &Root, path: &RelPath, line: &Line) -> io::Result<Option<String>> {
    let is_gone = matches!(line.result.as_str(), "deleted" | "trashed");
    let there = root.entry(path)?;
    let Some(there) = there else {
        return Ok((!is_gone).then(|| "is not there".to_owned()));
    };
    if is_gone {
        return Ok(Some("is there, but was deleted".to_owned()));
    }
    if there.kind != line.kind {
        return Ok(Some(format!(
            "is a {}, not a {}",
            there.kind.as_str(),
            line.kind.as_str()
        )));
    }
    let hash = match there.kind {
        Kind::File if there.size != line.size => {
            return Ok(Some(format!("has {} bytes, not {}", there.size, line.size)));
        }
        Kind::File if !line.blake3.is_empty() => {
            let Some((folder, name)) = root.parent(path)? else {
                return Ok(None);
            };
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(folder.open_file(name)?)?;
            hasher.finalize()
        }
        Kind::Symlink if !line.blake3.is_empty() => {
            blake3::hash(there.target.as_deref().unwrap_or_default())
        }
        _ => return Ok(None),
    };
    Ok((hash.to_hex().as_str() != line.blake3).then(|| "has another content".to_owned()))
}

fn open(path: &Path) -> Result<File, Problem> {
    File::open(path).map_err(|error| unreadable(path, &error))
}

fn read_text(path: &Path) -> Result<String, Problem> {
    let bytes = crate::state::read_bounded(path, MAX_DOCUMENT_BYTES as u64)
        .map_err(|error| unreadable(path, &error))?;
    String::from_utf8(bytes).map_err(|_| wrong(&format!("`{}` is not text", path.display())))
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        ControlCode::BadArgument,
        format!("`{}` can't be read: {error}", path.display()),
    )
}

fn wrong(detail: &str) -> Problem {
    Problem {
        code: "receipt_malformed".into(),
        message: format!("the receipt can't be trusted: {detail}"),
        retryable: false,
    }
}
