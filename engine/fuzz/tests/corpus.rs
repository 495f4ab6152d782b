//! The committed corpus, replayed: every file as it is, cut off anywhere, and with any one byte altered.
//!
//! `HEADRACE_WRITE_CORPUS=1` writes the seeds anew; what a fuzzer found is added to the same folders by hand.

use std::fs;
use std::path::{Path, PathBuf};

use headrace_core::batch::{BatchFile, Sparse};
use headrace_core::code::{Code, Failure};
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::piece_hash;
use headrace_core::journal::{Identity, Landed, Record};
use headrace_core::list::{ListEntry, ListWriter};
use headrace_core::manifest::Item;
use headrace_core::message::{
    Decision, FileResult, Hello, Join, Message, Order, Role, Totals, VERSIONS,
};
use headrace_core::name::RelPath;
use headrace_core::sealed::{Document, DocumentType};
use headrace_core::ticket::Shard;
use headrace_core::value::Digest;
use headrace_core::version::Version;
use headrace_fuzz::{TARGETS, authority, node};
use serde_json::{Value, json};

/// Longest file of the corpus: each is replayed about three times as often as it has bytes.
const MAX_SEED_BYTES: usize = 4096;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn path(text: &str) -> RelPath {
    RelPath::from_bytes(text.as_bytes()).expect("a path")
}

fn entry(name: &str, kind: Kind) -> Entry {
    Entry {
        path: path(name),
        kind,
        size: 5,
        mtime_ns: 1_700_000_000_123_456_789,
        version: Version::new(b"1").expect("short"),
        mode: 0o644,
        target: (kind == Kind::Symlink).then(|| Box::from(&b"there"[..])),
    }
}

fn items() -> Vec<Item> {
    vec![
        Item::Entry(entry("folder", Kind::Dir)),
        Item::Entry(entry("folder/\u{e9} %\u{202e}", Kind::File)),
        Item::Entry(entry("link", Kind::Symlink)),
        Item::Failed(
            entry("pipe", Kind::Other),
            Failure::new(Code::SourceUnsupported, "a fifo"),
        ),
    ]
}

fn messages() -> Vec<(&'static str, Message)> {
    let transfer = || "tr_1".parse().expect("an id");
    let hello = Hello {
        version_min: VERSIONS.0,
        version_max: VERSIONS.1,
        features: 0,
        role: Role::Destination,
        transfer: transfer(),
        attempt: 1,
        plan: Digest([9; 32]),
        shard: Shard::WHOLE,
        order: Order::Components,
        session: [3; 16],
        unit_bytes: 1 << 20,
        window: 1024,
        streams: 2,
    };
    let join = Join {
        transfer: transfer(),
        session: [3; 16],
        index: 1,
        token: [4; 32],
    };
    let decisions = vec![
        Decision::Nothing,
        Decision::Send,
        Decision::SendUnits(vec![0..1, 3..9]),
        Decision::Compare,
    ];
    let results = vec![
        (0, FileResult::Done),
        (1, FileResult::Holds([5; 32])),
        (2, FileResult::Failed(Code::NoSpace)),
    ];
    vec![
        ("hello", Message::Hello(hello)),
        ("join", Message::Join(join)),
        (
            "items",
            Message::Items {
                first: 0,
                items: items(),
            },
        ),
        (
            "decisions",
            Message::Decisions {
                first: 0,
                generation: 1,
                decisions,
            },
        ),
        ("results", Message::Results(results)),
        (
            "changed",
            Message::FileChanged {
                file: 1,
                generation: 1,
                entry: entry("folder/x", Kind::File),
            },
        ),
        (
            "failed",
            Message::FileFailed {
                file: 1,
                failure: Failure::new(Code::SourceUnreadable, "unreadable"),
            },
        ),
        (
            "compared",
            Message::Compared {
                file: 1,
                hash: [6; 32],
            },
        ),
        (
            "resend",
            Message::Resend {
                file: 1,
                generation: 1,
                unit: 2,
            },
        ),
        (
            "stream",
            Message::StreamAt {
                stream: 1,
                frames: 9,
            },
        ),
        ("end", Message::End(Totals::default())),
        (
            "bye",
            Message::Bye(Failure::new(Code::Stopped, "stopped on request")),
        ),
    ]
}

fn records() -> Vec<Record> {
    let identity = Identity::from(&entry("x", Kind::File));
    vec![
        Record::Start {
            transfer: "tr_1".parse().expect("an id"),
            plan: Digest([9; 32]),
            shard: Shard::WHOLE,
            unit_bytes: 1 << 20,
        },
        Record::Begun {
            part: 1,
            path: path("folder/x"),
            identity,
            inode: 5,
        },
        Record::Units {
            part: 1,
            units: vec![(0, [1; 32]), (2, [2; 32])],
        },
        Record::Landed(Landed {
            path: path("small"),
            identity,
            hash: [3; 32],
            inode: 6,
            part: None,
        }),
        Record::Published,
        Record::Dropped { part: 1 },
        Record::Made {
            path: path("folder"),
            inode: 7,
        },
        Record::Used {
            path: path("folder"),
        },
    ]
}

fn journal() -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records() {
        record.put(&mut bytes);
    }
    bytes
}

/// The records without their checksums, each behind its length.
fn fields_of_records() -> Vec<u8> {
    const FRAME_BYTES: usize = 8;
    let mut bytes = Vec::new();
    for record in records() {
        let mut framed = Vec::new();
        record.put(&mut framed);
        let fields = &framed[FRAME_BYTES..];
        bytes.push(u8::try_from(fields.len()).expect("a short record"));
        bytes.extend_from_slice(fields);
    }
    bytes
}

fn batch() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (file, content) in (0..).zip([&b"one"[..], b"", &[0; 40]]) {
        BatchFile {
            file,
            generation: 0,
            sparse: Sparse::Yes,
            hash: piece_hash(content.len() as u64, 0, content),
            bytes: content,
        }
        .put(&mut bytes);
    }
    bytes
}

fn list() -> Vec<u8> {
    let mut writer = ListWriter::new(Vec::new());
    for name in ["a", "b/c", "b/d e%"] {
        let listed = ListEntry::from(&entry(name, Kind::File));
        writer.push(&listed).expect("memory");
    }
    writer.finish().expect("memory").0
}

fn sealed(kind: DocumentType, body: &Value) -> Vec<u8> {
    let key = if kind == DocumentType::Statement {
        node()
    } else {
        authority()
    };
    let document = Document::seal(kind, body, &[&key]).expect("a small body");
    document.text().into_bytes()
}

const FROM: &str = "2026-11-21T11:59:00.000Z";
const UNTIL: &str = "2026-11-21T12:10:00.000Z";

fn permit() -> Value {
    json!({
        "id": "pm_1", "person": "ada", "node": node().public(), "root": "root", "path": ["run"],
        "max_entries": "1000", "max_seconds": "60", "not_before": FROM, "expires": UNTIL,
        "site": "", "project": "", "local_account": "",
    })
}

fn ticket() -> Value {
    let other = authority().public();
    let nothing = headrace_core::list::ListDigest::empty();
    json!({
        "id": "tk_1", "plan_digest": Digest([9; 32]), "transfer": "tr_1", "attempt": "1",
        "shard": {"fence": "1", "number": "0"}, "person": "ada",
        "source_node": node().public(), "destination_node": other,
        "execution": {
            "action": "copy",
            "source": {"node": node().public(), "root": "root", "path": ["from"]},
            "destination": {"node": other, "root": "root", "path": ["to"]},
            "filters": {
                "include": ["*.dat"], "exclude": ["skip/", "**/x?"], "min_size": "1", "max_size": null,
                "modified_after_ns": null, "modified_before_ns": null,
            },
            "on_conflict": "fail", "compare": "size-mtime", "preserve": ["mode", "mtime"], "verify": "in-transit",
            "checksums": [], "encryption": "required", "delete_source": false, "delete_extraneous": false,
            "max_files": "10", "max_bytes": "1000", "max_entries": "20", "overwrites": nothing, "deletes": nothing,
            "rate_ceiling_bps": null, "qos_class": "bulk",
        },
        "rate_ceiling_bps": "1000", "only_failed": false, "not_before": FROM, "expires": UNTIL,
        "site": "", "project": "", "local_account": "",
    })
}

fn statement() -> Value {
    let digest = Digest([2; 32]);
    json!({
        "role": "source", "node": node().public(), "plan_digest": digest, "transfer": "tr_1", "attempt": "1",
        "shard": {"fence": "1", "number": "0"}, "outcome": "complete", "files": "1", "bytes": "5", "identical": "0", "failed": "0", "deleted": "0",
        "resent_bytes": "0", "list_digest": digest, "root": digest, "verified": "in-transit", "encrypted": true,
        "cipher": "TLS13_AES_128_GCM_SHA256", "started": FROM, "ended": UNTIL, "changed": ["x"],
    })
}

/// A ticket of a sync that deletes to the trash, and a statement of a move that left sources: what the others don't have.
fn ticket_of_a_sync() -> Value {
    let mut ticket = ticket();
    let execution = &mut ticket["execution"];
    execution["action"] = "sync".into();
    execution["delete_extraneous"] = true.into();
    execution["on_conflict"] = "overwrite".into();
    execution["trash"] = json!({"keep_days": "30"});
    execution["filters"]["max_size"] = "9000".into();
    ticket
}

fn statement_of_a_move() -> Value {
    let mut statement = statement();
    statement["sources_kept"] = json!([
        {"reason": "changed", "detail": "it was written to", "count": "2", "names": ["a", "b"]},
        {"reason": "failed", "detail": "", "count": "1", "names": []},
    ]);
    statement
}

fn succession_body() -> Value {
    json!({
        "former": authority().public(), "next": node().public(), "from": FROM, "until": UNTIL, "site": "",
    })
}

fn succession() -> Vec<u8> {
    let keys = [&authority(), &node()];
    let document = Document::seal(DocumentType::Succession, &succession_body(), &keys);
    document.expect("a small body").text().into_bytes()
}

fn sealed_permit() -> Vec<u8> {
    sealed(DocumentType::Permit, &permit())
}

fn sealed_ticket() -> Vec<u8> {
    sealed(DocumentType::Ticket, &ticket())
}

fn sealed_statement() -> Vec<u8> {
    sealed(DocumentType::Statement, &statement())
}

fn greetings() -> Vec<(&'static str, Vec<u8>)> {
    let line = |say: serde_json::Value| {
        let mut line = json!({"headrace": 1, "program": "0.1.0", "say": say}).to_string();
        line.push('\n');
        ["Welcome to far!\n", &line].concat().into_bytes()
    };
    let key = node().public();
    vec![
        (
            "ask",
            line(json!({"ask": {
                "authority": key, "job": "jb_1", "loopback": false,
                "wish": {"side": "source", "root": null, "path": "/data/run%2542", "source": null},
            }})),
        ),
        (
            "ready",
            line(json!({"ready": {
                "node": key, "root": "root", "path": ["run"], "data_port": 8472,
                "found": {"kind": "dir", "name": ["run"]},
            }})),
        ),
        ("go", line(json!({"go": {"advertise": ["127.0.0.1:8472"]}}))),
        ("probe", line(json!({"probe": {"port": 8472}}))),
        (
            "probed",
            line(json!({"probed": {"address": "192.0.2.1:8472"}})),
        ),
        (
            "refused",
            line(json!({"refused": {"code": "root_unknown", "message": "no", "retryable": false}})),
        ),
    ]
}

fn body(body: &Value) -> Vec<u8> {
    serde_json::to_vec(body).expect("JSON")
}

/// Every seed: target, name, bytes.
fn seeds() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let mut manifest = Vec::new();
    for item in items() {
        item.put(&mut manifest);
    }
    let token =
        serde_json::to_vec(&json!({"a": "127.0.0.1:8471", "k": node().public(), "s": "secret"}));
    let token = headrace_node::token::JoinToken {
        ..serde_json::from_slice(&token.expect("JSON")).expect("a token")
    };
    let mut seeds = vec![
        ("manifest", "entries", manifest),
        ("journal", "records", journal()),
        ("batch", "three", batch()),
        ("journal", "fields", fields_of_records()),
        ("document", "permit", sealed_permit()),
        ("permit", "permit", sealed_permit()),
        ("ticket", "ticket", sealed_ticket()),
        ("statement", "statement", sealed_statement()),
        ("succession", "succession", succession()),
        ("permit", "body", body(&permit())),
        ("ticket", "body", body(&ticket())),
        ("ticket", "body of a sync", body(&ticket_of_a_sync())),
        ("statement", "body", body(&statement())),
        ("statement", "body of a move", body(&statement_of_a_move())),
        ("succession", "body", body(&succession_body())),
        ("list", "three", list()),
        ("name", "raw", b"a/\xff b/%25/\xe2\x80\xae".to_vec()),
        ("name", "escaped", b"%FF%25 x".to_vec()),
        ("glob", "stars", b"**/run*/[a-c]?/{x,y}\nrun1/ax/y".to_vec()),
        ("glob", "folder", b"skip/\nskip/below".to_vec()),
        (
            "records",
            "content",
            b"\x06hello\x17\x08padded\x17\x00".to_vec(),
        ),
        (
            "records",
            "key update",
            b"\x06\x18\x00\x00\x01\x01\x16\x03x\x17\x00".to_vec(),
        ),
        ("records", "goodbye", b"\x03\x01\x00\x15".to_vec()),
        (
            "records",
            "longer than a record",
            b"\x02x\x17\x77y\x17\x7fz\x17".to_vec(),
        ),
        (
            "rustls",
            "content",
            b"\x06hello\x17\x08padded\x17\x00".to_vec(),
        ),
        (
            "rustls",
            "new keys",
            b"\x06\x18\x00\x00\x01\x01\x16\x03x\x17\x00".to_vec(),
        ),
        (
            "rustls",
            "ticket",
            b"\x02x\x17\x06\x04\x00\x00\x01\x00\x16\x02y\x17".to_vec(),
        ),
        (
            "rustls",
            "goodbye",
            b"\x02x\x17\x03\x01\x00\x15\x02y\x17".to_vec(),
        ),
        (
            "rustls",
            "longer than a record",
            b"\x02x\x17\x76y\x17\x77z\x17".to_vec(),
        ),
        ("rustls", "altered", b"\x02x\x17\x82y\x17\x02z\x17".to_vec()),
        ("token", "token", token.to_string().into_bytes()),
    ];
    seeds.extend(
        messages()
            .into_iter()
            .map(|(name, message)| ("frame", name, message.encode())),
    );
    seeds.extend(
        greetings()
            .into_iter()
            .map(|(name, bytes)| ("greeting", name, bytes)),
    );
    seeds
}

#[test]
fn the_seeds_are_what_is_written_today() {
    let write = std::env::var_os("HEADRACE_WRITE_CORPUS").is_some();
    for (target, name, bytes) in seeds() {
        let file = corpus().join(target).join(name);
        if write {
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(&file, &bytes).expect("written");
        }
        let found = fs::read(&file).unwrap_or_default();
        assert!(
            found == bytes,
            "{} differs: HEADRACE_WRITE_CORPUS=1 writes it anew",
            file.display()
        );
    }
}

#[test]
fn seeds_of_documents_are_good() {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let of_a_sync = sealed(DocumentType::Ticket, &ticket_of_a_sync());
    let of_a_move = sealed(DocumentType::Statement, &statement_of_a_move());
    let (me, now) = (node().public(), headrace_fuzz::now());
    let grants = headrace_fuzz::grants();
    for ticket in [sealed_ticket(), of_a_sync].map(text) {
        headrace_core::ticket::VerifiedTicket::verify(&ticket, &grants, me, now).expect("good");
    }
    let permit = text(sealed_permit());
    headrace_core::permit::VerifiedPermit::verify(&permit, &grants, me, now).expect("good");
    let mut learned = headrace_core::succession::Learned::default();
    let told = learned.learn(&[text(succession())], &[authority().public()], now);
    assert_eq!(told, Ok(None));
    for statement in [sealed_statement(), of_a_move].map(text) {
        headrace_core::statement::Statement::verify(&statement, me).expect("good");
    }
}

#[test]
fn the_corpus_and_all_that_is_one_byte_from_it_is_read_or_refused() {
    for (target, run) in TARGETS {
        let files = fs::read_dir(corpus().join(target)).expect("each target has a corpus");
        for file in files {
            let file = file.expect("an entry").path();
            let bytes = fs::read(&file).expect("readable");
            assert!(bytes.len() <= MAX_SEED_BYTES, "{}", file.display());
            run(&bytes);
            for length in 0..bytes.len() {
                run(&bytes[..length]);
                for byte in [0, 0xFF, bytes[length] ^ 1, bytes[length] ^ 0x80] {
                    let mut altered = bytes.clone();
                    altered[length] = byte;
                    run(&altered);
                }
            }
        }
    }
}

#[test]
fn every_target_is_a_program() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).expect("readable");
    for (target, _) in TARGETS {
        let program = format!("name = \"{target}\"\npath = \"fuzz_targets/{target}.rs\"");
        assert!(manifest.contains(&program), "`{target}` is no program");
    }
}
