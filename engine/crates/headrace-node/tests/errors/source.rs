//! A destination against a source that alters content, or says and sends what it may not.

use headrace_core::batch::{BatchFile, Sparse};
use headrace_core::code::{Code, Failure};
use headrace_core::entry::Kind;
use headrace_core::integrity::{BLOCK_BYTES, piece_hash};
use headrace_core::manifest::{Item, MAX_ITEMS};
use headrace_core::message::{Decision, FileResult, Message, Totals};
use headrace_core::wire::{FrameType, HEADER_BYTES, Header, MAX_PAYLOAD_BYTES};
use headrace_node::session::{AttemptHandle, Outcome};

use crate::puppet::{
    DataStream, FLAG_HOLE, FLAG_SPARSE, Puppet, UNIT_BYTES, announced, code, file, small,
};
use crate::session_support::{Pair, content, lines, tree};

const LARGE_BYTES: usize = (5 << 18) + 7;

/// How a source alters what it announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alters {
    Block,
    Batch,
    Hole,
}

/// Send the file `altered` once: with one bit flipped, or as it is.
fn send_altered(stream: &mut DataStream, how: Alters, bytes: &[u8], flip: bool) {
    match how {
        Alters::Block => stream.unit(0, bytes, 0, |offset, block| {
            if flip && offset == BLOCK_BYTES {
                block[17] ^= 1;
            }
        }),
        Alters::Batch => {
            let mut sent = bytes.to_vec();
            sent[17] ^= u8::from(flip);
            stream.batch(&[BatchFile {
                bytes: &sent,
                ..small(0, bytes)
            }]);
        }
        // A hole is said where content is, which the hash of the content belies.
        Alters::Hole if flip => {
            let header = Header {
                flags: FLAG_HOLE | FLAG_SPARSE,
                ..Header::new(FrameType::Block)
            };
            let hash = piece_hash(bytes.len() as u64, 0, &bytes[..1 << 18]);
            stream.block(header, hash, &(1_u32 << 18).to_le_bytes());
        }
        Alters::Hole => stream.unit(0, bytes, 0, |_, _| {}),
    }
}

/// The result of the file with this number.
fn result_of(puppet: &mut Puppet, wanted: u64) -> FileResult {
    puppet.hear_until(|message| match message {
        Message::Results(results) => results
            .iter()
            .find(|(id, _)| *id == wanted)
            .map(|(_, result)| *result),
        _ => None,
    })
}

fn resend(puppet: &mut Puppet) -> u64 {
    puppet.hear_until(|message| match message {
        Message::Resend { file: 0, unit, .. } => Some(*unit),
        _ => None,
    })
}

/// Announce these entries, all of them, and hear what is wanted of them.
fn announce(puppet: &mut Puppet, items: Vec<Item>) -> Vec<Decision> {
    let count = items.len() as u64;
    puppet.say(&Message::Items { first: 0, items });
    puppet.say(&Message::ItemsEnd { count });
    puppet.hear_until(|message| match message {
        Message::Decisions { decisions, .. } => Some(decisions.clone()),
        _ => None,
    })
}

fn end(puppet: &mut Puppet) -> Totals {
    let totals = puppet.hear_until(|message| match message {
        Message::End(totals) => Some(*totals),
        _ => None,
    });
    puppet.say(&Message::EndConfirmed);
    totals
}

#[test]
fn content_that_arrives_altered_is_asked_for_again() {
    for how in [Alters::Block, Alters::Batch, Alters::Hole] {
        let mut pair = Pair::new();
        let (mut puppet, victim) = Puppet::source(&mut pair);
        let size = if how == Alters::Batch {
            1000
        } else {
            LARGE_BYTES
        };
        let bytes = content(size, 1);
        announce(&mut puppet, vec![file("altered", size as u64)]);
        let mut stream = puppet.stream(0);
        send_altered(&mut stream, how, &bytes, true);
        assert_eq!(resend(&mut puppet), 0);
        send_altered(&mut stream, how, &bytes, false);
        if how != Alters::Batch {
            stream.unit(0, &bytes, 1, |_, _| {});
            puppet.say(&Message::FileEnd {
                file: 0,
                generation: 0,
            });
        }
        assert_eq!(result_of(&mut puppet, 0), FileResult::Done, "{how:?}");
        end(&mut puppet);
        assert_eq!(victim.wait().outcome, Outcome::Complete, "{how:?}");
        assert!(
            tree(&pair.to())[&b"altered"[..]].2 == bytes,
            "{how:?}: other bytes are there than were sent"
        );
    }
}

#[test]
fn content_that_arrives_altered_every_time_fails_its_file_by_name_and_never_gets_one() {
    for how in [Alters::Block, Alters::Batch, Alters::Hole] {
        let mut pair = Pair::new();
        let (mut puppet, victim) = Puppet::source(&mut pair);
        let size = if how == Alters::Batch {
            1000
        } else {
            LARGE_BYTES
        };
        let bytes = content(size, 1);
        announce(
            &mut puppet,
            vec![file("altered", size as u64), file("good", 4)],
        );
        let mut stream = puppet.stream(0);
        stream.batch(&[small(1, b"good")]);
        for _ in 0..3 {
            send_altered(&mut stream, how, &bytes, true);
            resend(&mut puppet);
        }
        send_altered(&mut stream, how, &bytes, true);
        assert_eq!(
            result_of(&mut puppet, 0),
            FileResult::Failed(Code::VerifyFailed),
            "{how:?}"
        );
        let totals = end(&mut puppet);
        assert_eq!((totals.files, totals.failed), (1, 1));
        let ended = victim.wait();
        assert_eq!(ended.outcome, Outcome::Partial);
        let failed = lines(ended.failed_list.as_ref());
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0]["error"], "verify_failed");
        assert_eq!(
            failed[0]["message"],
            "`to/altered` in root `root` arrived altered 4 times"
        );
        let names: Vec<Vec<u8>> = tree(&pair.to()).into_keys().collect();
        assert_eq!(names, [b"good".to_vec()], "{how:?}");
    }
}

/// A source that breaks the protocol in one way: announce `large` and `small`, then do it.
fn break_the_protocol(
    named: &str,
    breaks: impl FnOnce(&mut Puppet, &mut DataStream),
) -> (Failure, AttemptHandle) {
    let mut pair = Pair::new();
    let (mut puppet, victim) = Puppet::source(&mut pair);
    let items = vec![
        file("large", LARGE_BYTES as u64),
        announced("link", Kind::Dir, 0),
        file("small", 5),
    ];
    puppet.say(&Message::Items { first: 0, items });
    puppet.hear_until(|message| matches!(message, Message::Decisions { .. }).then_some(()));
    let mut stream = puppet.stream(0);
    breaks(&mut puppet, &mut stream);
    let said = puppet.bye();
    assert_eq!(said.code, Code::ProtocolViolation, "{named}: {said:?}");
    let ended = victim.wait();
    assert_eq!(code(&ended), Some(Code::ProtocolViolation), "{named}");
    let files = tree(&pair.to()).into_iter();
    let left: Vec<Vec<u8>> = files
        .filter(|(name, _)| !name.starts_with(b".headrace-part-"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(left, [b"link".to_vec()], "{named}");
    (said, victim)
}

fn block(file: u64, offset: u64, flags: u8) -> Header {
    Header {
        file,
        offset,
        flags,
        ..Header::new(FrameType::Block)
    }
}

#[test]
fn more_content_than_was_announced_ends_the_attempt() {
    let block_bytes = usize::try_from(BLOCK_BYTES).expect("small");
    let longer = vec![0; block_bytes + 1];
    let last = vec![0; LARGE_BYTES - (1 << 20) + 1];
    break_the_protocol("a longer block", |_, stream| {
        stream.block(block(0, 0, 0), [1; 32], &longer);
    });
    break_the_protocol("a shorter block", |_, stream| {
        stream.block(block(0, 0, 0), [1; 32], &longer[..1000]);
    });
    break_the_protocol("a last block that goes on", |_, stream| {
        stream.block(block(0, UNIT_BYTES, 0), [1; 32], &last);
    });
    break_the_protocol("a unit behind the end", |_, stream| {
        stream.block(block(0, 2 * UNIT_BYTES, 0), [1; 32], &longer[1..]);
    });
    break_the_protocol("a block that begins no unit", |_, stream| {
        stream.block(block(0, BLOCK_BYTES, 0), [1; 32], &longer[1..]);
    });
    break_the_protocol("a longer small file", |_, stream| {
        stream.batch(&[small(2, b"longer")]);
    });
    break_the_protocol("a large file in a batch", |_, stream| {
        stream.batch(&[small(0, b"12345")]);
    });
    break_the_protocol("a small file in blocks", |_, stream| {
        stream.block(block(2, 0, 0), [1; 32], b"12345");
    });
}

#[test]
fn what_the_plan_leaves_out_is_not_taken_from_a_source_that_brings_it() {
    let left_out = [
        file("x.tmp", 1),
        file("large", 11),
        announced("y.tmp", Kind::Dir, 0),
        file("z.tmp/file", 1),
    ];
    for item in left_out {
        let mut pair = Pair::new();
        pair.ticket.execution.filters.exclude = vec!["*.tmp".to_owned()];
        pair.ticket.execution.filters.max_size = Some(10);
        let (mut puppet, victim) = Puppet::source(&mut pair);
        puppet.say(&Message::Items {
            first: 0,
            items: vec![file("good", 1), item.clone()],
        });
        let said = puppet.bye();
        assert_eq!(said.code, Code::ProtocolViolation, "{item:?}");
        let reason = "a name that the plan leaves out";
        assert!(said.message.ends_with(reason), "{said:?}");
        assert_eq!(code(&victim.wait()), Some(Code::ProtocolViolation));
        assert!(tree(&pair.destination.data).is_empty(), "{item:?}");
    }
}

#[test]
fn frames_that_are_none_end_the_attempt() {
    break_the_protocol("a block without content", |_, stream| {
        let header = Header {
            length: 31,
            ..block(0, 0, 0)
        };
        stream.bytes(&[&header.encode()[..], &[0; 31]].concat());
    });
    break_the_protocol("an empty batch", |_, stream| stream.batch(&[]));
    break_the_protocol("a batch that is cut off", |_, stream| {
        let header = Header {
            length: 9,
            ..Header::new(FrameType::Batch)
        };
        stream.bytes(&[&header.encode()[..], &[0; 9]].concat());
    });
    break_the_protocol("a hole in a file without any", |_, stream| {
        stream.block(
            block(0, 0, FLAG_HOLE),
            [1; 32],
            &(1_u32 << 18).to_le_bytes(),
        );
    });
    break_the_protocol("a hole of another length", |_, stream| {
        let header = block(0, 0, FLAG_HOLE | FLAG_SPARSE);
        stream.block(header, [1; 32], &u32::MAX.to_le_bytes());
    });
    break_the_protocol("a message on a data connection", |_, stream| {
        stream.bytes(&Message::ItemsEnd { count: 3 }.encode());
    });
    break_the_protocol("a frame that nobody knows", |puppet, _| {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = 0x70;
        puppet.say_bytes(&bytes);
    });
    let (said, _) = break_the_protocol("a frame longer than any may be", |_, stream| {
        let mut bytes = Header::new(FrameType::Batch).encode();
        bytes[4..8].copy_from_slice(&(MAX_PAYLOAD_BYTES + 1).to_le_bytes());
        stream.bytes(&bytes);
    });
    assert_eq!(
        said.message,
        "the other node broke the protocol: a frame of 1114113 bytes is longer than 1114112"
    );
}

#[test]
fn entries_that_come_wrongly_end_the_attempt() {
    let items = |first, names: &[&str]| Message::Items {
        first,
        items: names.iter().map(|name| file(name, 1)).collect(),
    };
    break_the_protocol("numbers that leave one out", |puppet, _| {
        puppet.say(&items(4, &["x"]));
    });
    break_the_protocol("names that fall", |puppet, _| {
        puppet.say(&items(3, &["a"]));
    });
    let (said, _) = break_the_protocol("a name of a temporary", |puppet, _| {
        puppet.say(&items(3, &["x/.headrace-part-tr_1-7"]));
    });
    assert!(said.message.contains("kept for temporaries"), "{said:?}");
    break_the_protocol("another number of entries than came", |puppet, _| {
        puppet.say(&Message::ItemsEnd { count: 4 });
    });
    break_the_protocol("entries after the end", |puppet, _| {
        puppet.say(&Message::ItemsEnd { count: 3 });
        puppet.say(&items(3, &["x"]));
    });
    break_the_protocol("entries without an end", |puppet, _| {
        for first in (3..).step_by(MAX_ITEMS).take(9) {
            let names = (first..first + MAX_ITEMS as u64).map(|number| format!("x{number:06}"));
            let items = names.map(|name| file(&name, 1)).collect();
            puppet.say(&Message::Items { first, items });
        }
    });
    break_the_protocol("a file that changes into another one", |puppet, _| {
        let Item::Entry(entry) = file("other", 5) else {
            unreachable!()
        };
        puppet.say(&Message::FileChanged {
            file: 0,
            generation: 1,
            entry,
        });
    });
    break_the_protocol("a file that changes twice at once", |puppet, _| {
        let Item::Entry(entry) = file("large", 5) else {
            unreachable!()
        };
        puppet.say(&Message::FileChanged {
            file: 0,
            generation: 2,
            entry,
        });
    });
}

#[test]
fn messages_that_are_not_a_sources_end_the_attempt() {
    break_the_protocol("a hash that nobody asked for", |puppet, _| {
        puppet.say(&Message::Compared {
            file: 0,
            hash: [1; 32],
        });
    });
    break_the_protocol("decisions", |puppet, _| {
        puppet.say(&Message::Decisions {
            first: 0,
            generation: 0,
            decisions: vec![Decision::Nothing],
        });
    });
    break_the_protocol("results", |puppet, _| {
        puppet.say(&Message::Results(vec![(0, FileResult::Done)]));
    });
    break_the_protocol("an end that is not its own", |puppet, _| {
        puppet.say(&Message::End(Totals::default()));
    });
    break_the_protocol("an end that is confirmed before it is said", |puppet, _| {
        puppet.say(&Message::EndConfirmed);
    });
}

#[test]
fn content_and_words_about_nothing_change_nothing() {
    let mut pair = Pair::new();
    let (mut puppet, victim) = Puppet::source(&mut pair);
    announce(&mut puppet, vec![file("one", 3)]);
    let mut stream = puppet.stream(0);
    // Neither announced nor of this generation.
    stream.batch(&[
        small(7, b"abc"),
        BatchFile {
            generation: 3,
            ..small(0, b"xyz")
        },
    ]);
    stream.block(block(9, 0, 0), [1; 32], b"content");
    puppet.say(&Message::FileEnd {
        file: 8,
        generation: 0,
    });
    puppet.say(&Message::FileFailed {
        file: 8,
        failure: Failure::new(Code::SourceUnreadable, "of nothing"),
    });
    // An optional frame of a later version.
    let mut later = [0; HEADER_BYTES];
    later[0] = 0xF0;
    puppet.say_bytes(&later);
    stream.batch(&[BatchFile {
        sparse: Sparse::Yes,
        ..small(0, b"abc")
    }]);
    assert_eq!(result_of(&mut puppet, 0), FileResult::Done);
    let totals = end(&mut puppet);
    assert_eq!((totals.files, totals.failed), (1, 0));
    assert_eq!(victim.wait().outcome, Outcome::Complete);
    let names: Vec<Vec<u8>> = tree(&pair.to()).into_keys().collect();
    assert_eq!(names, [b"one".to_vec()]);
    assert_eq!(tree(&pair.to())[&b"one"[..]].2, b"abc");
}

#[test]
fn what_a_source_can_not_deliver_is_listed_with_its_reason() {
    let codes = [
        Code::SourceChanged,
        Code::SourceUnreadable,
        Code::SourceVanished,
    ];
    let mut pair = Pair::new();
    let (mut puppet, victim) = Puppet::source(&mut pair);
    let items = (0..3)
        .map(|number| file(&format!("f{number}"), 1))
        .collect();
    announce(&mut puppet, items);
    for (number, code) in (0..).zip(codes) {
        puppet.say(&Message::FileFailed {
            file: number,
            failure: Failure::new(code, format!("why {number}")),
        });
    }
    assert_eq!(end(&mut puppet).failed, 3);
    let failed = lines(victim.wait().failed_list.as_ref());
    for (line, (number, code)) in failed.iter().zip((0..).zip(codes)) {
        assert_eq!(line["error"], code.as_str());
        assert_eq!(line["message"], format!("why {number}"));
    }
    assert_eq!(failed.len(), 3);
}
