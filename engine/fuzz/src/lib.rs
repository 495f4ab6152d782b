//! What the fuzz targets do with their bytes: no panic, no memory on a peer's word, and what is read is written back as it was.
//!
//! What a signature, a checksum or a cipher would stop at the door is read twice: as it is, and signed, summed up or sealed as by somebody
//! who holds the keys.

#![expect(
    clippy::missing_panics_doc,
    reason = "a target panics where a parser is wrong"
)]

use std::io::Cursor;
use std::time::Duration;

use headrace_core::access::{Access, Authority, Grant, Grants};
use headrace_core::batch::read_batch;
use headrace_core::entry::{Entry, Kind};
use headrace_core::filter::{Filter, Filters};
use headrace_core::journal::{Record, Replay};
use headrace_core::list::{ListDigest, ListReader, ListWriter};
use headrace_core::manifest::Item;
use headrace_core::message::Message;
use headrace_core::name::{RelPath, escape, unescape};
use headrace_core::permit::VerifiedPermit;
use headrace_core::schedule::{QUANTUM_BYTES, Schedule};
use headrace_core::sealed::{Document, DocumentType, SigningKey};
use headrace_core::shares::{Links, TransferShare};
use headrace_core::statement::Statement;
use headrace_core::succession::Learned;
use headrace_core::ticket::{Action, Ticket, VerifiedTicket};
use headrace_core::value::Timestamp;
use headrace_core::version::Version;
use headrace_core::wire::{Header, Peeked};
use headrace_node::token::JoinToken;
use serde_json::Value;

/// A target: its name and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("frame", frame),
    ("manifest", manifest),
    ("journal", journal),
    ("batch", batch),
    ("document", document),
    ("ticket", ticket),
    ("permit", permit),
    ("statement", statement),
    ("succession", succession),
    ("list", list),
    ("name", name),
    ("glob", glob),
    ("records", records),
    ("rustls", rustls),
    ("greeting", greeting),
    ("shares", shares),
    ("token", token),
];

/// The authority that the corpus is signed by.
#[must_use]
pub fn authority() -> SigningKey {
    SigningKey::from_seed(&[100; 32])
}

/// The node that documents are for.
#[must_use]
pub fn node() -> SigningKey {
    SigningKey::from_seed(&[1; 32])
}

/// When they are looked at.
#[must_use]
#[expect(clippy::unwrap_used, reason = "it is a time")]
pub fn now() -> Timestamp {
    "2026-11-21T12:00:00.000Z".parse().unwrap()
}

/// What the node obeys.
#[must_use]
pub fn grants() -> Grants {
    let grant = Grant {
        access: Access::Delete,
        authorities: vec![Authority {
            key: authority().public(),
            access: Access::Delete,
            until: None,
        }],
    };
    Grants::from([("root".to_owned(), grant)])
}

/// A frame: its header and its payload.
pub fn frame(bytes: &[u8]) {
    if let Some((header, payload)) = bytes.split_first_chunk()
        && let Ok(Peeked::Known(header)) = Header::decode(header)
        && let Ok(message) = Message::decode(&header, payload)
    {
        let again = message.encode();
        let (header, payload) = again.split_first_chunk().expect("a header");
        let Ok(Peeked::Known(header)) = Header::decode(header) else {
            panic!("what was written is not a header");
        };
        assert_eq!(Message::decode(&header, payload).as_ref(), Ok(&message));
    }
}

/// Entries of a manifest.
pub fn manifest(bytes: &[u8]) {
    if let Ok(items) = Item::read_all(bytes) {
        let mut again = Vec::new();
        for item in &items {
            item.put(&mut again);
        }
        assert_eq!(Item::read_all(&again).as_ref(), Ok(&items));
    }
}

/// A journal, up to some point; and one of records that each have the length that a byte says, and their checksum.
pub fn journal(bytes: &[u8]) {
    let (_, length) = Replay::read(bytes, &mut ()).expect("nothing is kept");
    assert!(length <= bytes.len());
    let summed = summed(bytes);
    let (_, length) = Replay::read(&summed, &mut ()).expect("nothing is kept");
    let mut again = Vec::new();
    while let Some((record, _)) = Record::read(&summed[again.len()..]) {
        record.put(&mut again);
    }
    assert_eq!(again, summed[..length]);
}

fn summed(mut bytes: &[u8]) -> Vec<u8> {
    let mut journal = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let (fields, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        let length = u32::try_from(fields.len()).expect("short");
        journal.extend_from_slice(&length.to_le_bytes());
        journal.extend_from_slice(&crc32c::crc32c(fields).to_le_bytes());
        journal.extend_from_slice(fields);
        bytes = rest;
    }
    journal
}

/// The payload of a batch frame.
pub fn batch(bytes: &[u8]) {
    if let Ok(files) = read_batch(bytes) {
        let mut again = Vec::new();
        for file in &files {
            file.put(&mut again);
        }
        assert_eq!(read_batch(&again).as_ref(), Ok(&files));
    }
}

/// A signed document of any type.
pub fn document(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for kind in [
        DocumentType::Plan,
        DocumentType::Permit,
        DocumentType::Ticket,
        DocumentType::Statement,
        DocumentType::Receipt,
        DocumentType::Succession,
    ] {
        if let Ok(document) = Document::parse(text, kind) {
            let again = Document::parse(&document.text(), kind);
            assert_eq!(
                again.map(|again| again.digest()).ok(),
                Some(document.digest())
            );
            drop(document.claims::<Ticket>());
            drop(document.signers(&[authority().public()]));
        }
    }
}

/// The document as it is, and one with these bytes as its body, signed.
fn as_they_are_and_signed(bytes: &[u8], kind: DocumentType, keys: &[&SigningKey]) -> Vec<String> {
    let body = serde_json::from_slice::<Value>(bytes).ok();
    let signed = body.and_then(|body| Document::seal(kind, &body, keys).ok());
    let as_it_is = std::str::from_utf8(bytes).ok().map(str::to_owned);
    let signed = signed.map(|document| document.text());
    as_it_is.into_iter().chain(signed).collect()
}

/// A ticket, as a node gets it.
pub fn ticket(bytes: &[u8]) {
    let verify = |text: &str| VerifiedTicket::verify(text, &grants(), node().public(), now());
    for text in as_they_are_and_signed(bytes, DocumentType::Ticket, &[&authority()]) {
        let Ok(verified) = verify(&text) else {
            continue;
        };
        let ticket = verified.ticket();
        let execution = &ticket.execution;
        assert_eq!(execution.delete_source, execution.action == Action::Move);
        assert!(!execution.destination.path.has_part());
        let again = Document::seal(DocumentType::Ticket, ticket, &[&authority()]);
        let again = again.expect("it was no longer").text();
        assert_eq!(
            verify(&again).as_ref().map(VerifiedTicket::ticket),
            Ok(ticket)
        );
    }
}

/// A permit, as a node gets it.
pub fn permit(bytes: &[u8]) {
    for text in as_they_are_and_signed(bytes, DocumentType::Permit, &[&authority()]) {
        let verified = VerifiedPermit::verify(&text, &grants(), node().public(), now());
        if let Ok(permit) = verified {
            assert_eq!(permit.permit().node, node().public());
            assert!(!permit.covers(&RelPath::root()) || permit.permit().path.is_root());
        }
    }
}

/// A statement of a node.
pub fn statement(bytes: &[u8]) {
    for text in as_they_are_and_signed(bytes, DocumentType::Statement, &[&node()]) {
        if let Ok(statement) = Statement::verify(&text, node().public()) {
            let again = statement.seal(&node()).expect("it was no longer").text();
            let again = Statement::verify(&again, node().public());
            assert_eq!(again.as_ref(), Ok(&statement));
        }
    }
}

/// Successions of the authority and of the hub, as a node is told them: what it learns has an end.
pub fn succession(bytes: &[u8]) {
    let keys = [&authority(), &node()];
    let [first, second] = keys.map(SigningKey::public);
    let mut learned = Learned::default();
    for text in as_they_are_and_signed(bytes, DocumentType::Succession, &keys) {
        drop(learned.learn(&[text], &[first, second], now()));
    }
    let authorities = learned.extend(&grants()["root"].authorities);
    for text in as_they_are_and_signed(bytes, DocumentType::HubSuccession, &keys) {
        drop(learned.learn_hub(&text, second, &authorities, now()));
    }
    assert!(learned.hub_keys(second, now()).len() <= 2 && authorities.len() <= 4);
}

/// The lines of a sealed list.
pub fn list(bytes: &[u8]) {
    let read = |bytes: &[u8]| -> Vec<_> {
        let lines = ListReader::new(Cursor::new(bytes), ListDigest::empty());
        lines.map_while(Result::ok).collect()
    };
    let entries = read(bytes);
    let mut writer = ListWriter::new(Vec::new());
    for entry in &entries {
        assert!(writer.push(entry).is_ok());
    }
    let Ok((again, _)) = writer.finish() else {
        panic!("memory can be written to");
    };
    assert_eq!(read(&again), entries);
}

/// A path, raw and escaped.
pub fn name(bytes: &[u8]) {
    if let Ok(path) = RelPath::from_bytes(bytes) {
        let escaped: Vec<String> = path.components().map(escape).collect();
        let again = RelPath::from_escaped(escaped.iter().map(String::as_str));
        assert_eq!(again.as_ref(), Ok(&path));
        assert_eq!(path.as_bytes(), bytes);
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(raw) = unescape(text)
    {
        assert_eq!(unescape(&escape(&raw)).as_ref(), Ok(&raw));
    }
}

/// A pattern in the first line, a path in the second.
pub fn glob(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (pattern, path) = text.split_once('\n').unwrap_or((text, ""));
    for (include, exclude) in [
        (vec![pattern.to_owned()], vec![]),
        (vec![], vec![pattern.to_owned()]),
    ] {
        let filters = Filters {
            include,
            exclude,
            ..Filters::default()
        };
        let (Ok(filter), Ok(path)) = (Filter::new(&filters), RelPath::from_bytes(path.as_bytes()))
        else {
            return;
        };
        for kind in [Kind::File, Kind::Dir] {
            let _ = filter.selects(&Entry {
                path: path.clone(),
                kind,
                size: 1,
                mtime_ns: 1,
                version: Version::new(b"1").expect("short"),
                mode: 0o644,
                target: None,
            });
        }
        let _ = filter.descends(&path);
    }
}

/// What arrives on a TLS connection: any bytes, and any records that the other side sealed.
pub fn records(bytes: &[u8]) {
    headrace_io::fuzzing::read_records(bytes);
    headrace_io::fuzzing::read_sealed_records(bytes);
}

/// What the other side of a TLS connection sealed, read by rustls and by us; and what we seal, read by rustls.
pub fn rustls(bytes: &[u8]) {
    headrace_io::fuzzing::read_as_rustls(bytes);
    headrace_io::fuzzing::write_for_rustls(bytes);
}

/// What the program on another machine says before the control protocol.
pub fn greeting(bytes: &[u8]) {
    headrace_node::fuzzing::greeting(bytes);
}

/// What the service says of links and of a share: what is taken can be scheduled.
pub fn shares(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (links, share) = text.split_once('\n').unwrap_or((text, text));
    let Ok(links) = Links::parse(links) else {
        let _ = TransferShare::parse(share);
        return;
    };
    assert_eq!(Links::parse(&links.text()).as_ref(), Ok(&links));
    let Ok(share) = TransferShare::parse(share) else {
        return;
    };
    for rules in links.0.values() {
        let mut schedule = Schedule::new(rules, Duration::ZERO);
        schedule.join(1, &share, Duration::ZERO);
        (0..4).for_each(|ask| schedule.ask(1, ask, QUANTUM_BYTES, 1));
        let due = schedule.due(Duration::ZERO).expect("it waits");
        // However low the rate: a wait is finite, and an hour at most.
        assert!(due <= Duration::from_hours(1));
        while schedule.grant(due).is_some() {}
        schedule.leave(1);
        assert_eq!(schedule.due(due), None);
    }
}

/// A join token.
pub fn token(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(token) = text.parse::<JoinToken>()
    {
        assert_eq!(token.to_string().parse().as_ref(), Ok(&token));
    }
}
