//! A source against a destination that lies, or asks for what it may not.

use std::path::Path;

use headrace_core::code::Code;
use headrace_core::message::{Decision, FileResult, Message, Totals};
use headrace_core::statement::{Kept, KeptReason};
use headrace_core::ticket::Action;
use headrace_core::wire::FrameType;
use headrace_node::session::{AttemptEnd, AttemptHandle};

use crate::puppet::{DataStream, Puppet, code, file};
use crate::session_support::{Pair, content, put, tree};

const LARGE_BYTES: usize = (1 << 20) + 7;

/// A source with a folder, a large file and a small one, listed in this order.
fn fill(folder: &Path) {
    put(folder, "folder/large", &content(LARGE_BYTES, 1));
    put(folder, "small", b"abc");
}

/// Numbers of the source folder and of what [`fill`] makes in it.
const TOP: u64 = 0;
const FOLDER: u64 = 1;
const LARGE: u64 = 2;
const SMALL: u64 = 3;

/// Wait until the source has listed everything.
fn listed(puppet: &mut Puppet) {
    puppet.hear_until(|message| matches!(message, Message::ItemsEnd { .. }).then_some(()));
}

fn decide(puppet: &mut Puppet, first: u64, decisions: Vec<Decision>) {
    puppet.say(&Message::Decisions {
        first,
        generation: 0,
        decisions,
    });
}

/// Say that everything is done, and hear that the source is done, too.
fn end(puppet: &mut Puppet, victim: &AttemptHandle) -> AttemptEnd {
    puppet.say(&Message::End(Totals::default()));
    puppet.hear_until(|message| (*message == Message::EndConfirmed).then_some(()));
    victim.wait()
}

fn a_move() -> (Pair, Puppet, AttemptHandle) {
    let mut pair = Pair::new();
    pair.ticket.execution.action = Action::Move;
    pair.ticket.execution.delete_source = true;
    fill(&pair.from());
    let (mut puppet, victim) = Puppet::destination(&mut pair);
    listed(&mut puppet);
    (pair, puppet, victim)
}

/// Take everything that comes until the large file is whole.
fn take_large(puppet: &mut Puppet, stream: &mut DataStream) {
    let mut received = 0;
    while received < LARGE_BYTES {
        let (header, payload) = stream.frame();
        if header.kind == FrameType::Block {
            received += payload.len() - 32;
        }
    }
    puppet.hear_until(|message| {
        matches!(message, Message::FileEnd { file: LARGE, .. }).then_some(())
    });
}

#[test]
fn a_lying_destination_of_a_move_deletes_no_source() {
    let lies: [(&str, &[FileResult], KeptReason); 2] = [
        (
            "done without a hash",
            &[FileResult::Done],
            KeptReason::Unproven,
        ),
        (
            "done with another hash",
            &[FileResult::Holds([1; 32])],
            KeptReason::Differs,
        ),
    ];
    for (named, results, reason) in lies {
        let (pair, mut puppet, victim) = a_move();
        decide(&mut puppet, TOP, vec![Decision::Nothing; 4]);
        for result in results {
            puppet.say(&Message::Results(vec![(LARGE, *result), (SMALL, *result)]));
        }
        let ended = end(&mut puppet, &victim);
        let statement = ended.statement.expect("a statement");
        assert_eq!(statement.sources_deleted, 0, "{named}");
        let [kept] = &statement.sources_kept[..] else {
            panic!("{named}: {:?}", statement.sources_kept);
        };
        assert_eq!((kept.reason, kept.count), (reason, 2), "{named}");
        assert_eq!(kept.names, ["folder/large", "small"], "{named}");
        assert_eq!(tree(&pair.from()).len(), 3, "{named}: a source is gone");
    }
}

#[test]
fn a_move_deletes_what_the_destination_shows_to_hold_from_an_earlier_session() {
    let (pair, mut puppet, victim) = a_move();
    decide(&mut puppet, TOP, vec![Decision::Nothing; 4]);
    let hash = |bytes: &[u8]| FileResult::Holds(*blake3::hash(bytes).as_bytes());
    puppet.say(&Message::Results(vec![
        (LARGE, hash(&content(LARGE_BYTES, 1))),
        (SMALL, hash(b"abc")),
    ]));
    let statement = end(&mut puppet, &victim).statement.expect("a statement");
    assert_eq!(statement.sources_deleted, 2, "{:?}", statement.sources_kept);
    assert!(tree(&pair.from()).is_empty());
}

#[test]
fn a_source_that_changed_after_it_was_sent_stays() {
    let (pair, mut puppet, victim) = a_move();
    let mut stream = puppet.stream(0);
    decide(
        &mut puppet,
        FOLDER,
        vec![Decision::Nothing, Decision::Send, Decision::Nothing],
    );
    take_large(&mut puppet, &mut stream);
    put(&pair.from(), "folder/large", b"something new");
    puppet.say(&Message::Results(vec![(LARGE, FileResult::Holds([1; 32]))]));
    let statement = end(&mut puppet, &victim).statement.expect("a statement");
    assert_eq!(statement.sources_deleted, 0);
    assert_eq!(
        statement.sources_kept,
        [Kept {
            reason: KeptReason::Changed,
            detail: "it changed after it was copied".to_owned(),
            count: 1,
            names: vec!["folder/large".to_owned()],
        }]
    );
    assert_eq!(
        std::fs::read(pair.from().join("folder/large")).expect("there"),
        b"something new"
    );
}

/// A destination that breaks the protocol in one way.
fn break_the_protocol(named: &str, breaks: impl FnOnce(&mut Puppet)) {
    let (pair, mut puppet, victim) = a_move();
    breaks(&mut puppet);
    let said = puppet.bye();
    assert_eq!(said.code, Code::ProtocolViolation, "{named}: {said:?}");
    assert_eq!(
        code(&victim.wait()),
        Some(Code::ProtocolViolation),
        "{named}"
    );
    assert_eq!(tree(&pair.from()).len(), 3, "{named}: a source is gone");
}

#[test]
fn decisions_about_nothing_end_the_attempt() {
    break_the_protocol("an entry that was never listed", |puppet| {
        decide(puppet, 99, vec![Decision::Send]);
    });
    break_the_protocol("a number at the end of all numbers", |puppet| {
        decide(puppet, u64::MAX, vec![Decision::Nothing; 2]);
    });
    break_the_protocol("content of a folder", |puppet| {
        decide(puppet, FOLDER, vec![Decision::Send]);
    });
    break_the_protocol("units behind the end", |puppet| {
        decide(puppet, LARGE, vec![Decision::SendUnits(vec![0..1, 2..3])]);
    });
    break_the_protocol("units twice", |puppet| {
        let ranges = vec![0..2, 1..2];
        decide(puppet, LARGE, vec![Decision::SendUnits(ranges)]);
    });
    break_the_protocol("a generation that is yet to come", |puppet| {
        puppet.say(&Message::Decisions {
            first: LARGE,
            generation: 1,
            decisions: vec![Decision::Send],
        });
    });
    break_the_protocol("a result of nothing", |puppet| {
        puppet.say(&Message::Results(vec![(99, FileResult::Done)]));
    });
    break_the_protocol("a unit that does not exist, again", |puppet| {
        decide(puppet, LARGE, vec![Decision::Send]);
        puppet.say(&Message::Resend {
            file: LARGE,
            generation: 0,
            unit: 2,
        });
    });
}

#[test]
fn asking_for_the_same_over_and_over_ends_the_attempt() {
    break_the_protocol("a file twice", |puppet| {
        decide(puppet, LARGE, vec![Decision::Send]);
        decide(puppet, LARGE, vec![Decision::Send]);
    });
    break_the_protocol("a comparison twice", |puppet| {
        decide(puppet, LARGE, vec![Decision::Compare]);
        decide(puppet, LARGE, vec![Decision::Compare]);
    });
    break_the_protocol("a comparison of what was asked for", |puppet| {
        decide(puppet, SMALL, vec![Decision::Send]);
        decide(puppet, SMALL, vec![Decision::Compare]);
    });
    for (named, id) in [("a unit", LARGE), ("a small file", SMALL)] {
        break_the_protocol(&format!("{named}, again and again"), |puppet| {
            decide(puppet, id, vec![Decision::Send]);
            for _ in 0..4 {
                puppet.say(&Message::Resend {
                    file: id,
                    generation: 0,
                    unit: 0,
                });
            }
        });
    }
    break_the_protocol("what was never asked for, again", |puppet| {
        puppet.say(&Message::Resend {
            file: LARGE,
            generation: 0,
            unit: 0,
        });
    });
}

#[test]
fn a_unit_that_goes_again_is_never_whole_once_its_file_has_changed() {
    let mut pair = Pair::new();
    fill(&pair.from());
    let (mut puppet, victim) = Puppet::destination(&mut pair);
    let mut stream = puppet.stream(0);
    listed(&mut puppet);
    decide(&mut puppet, LARGE, vec![Decision::Send]);
    take_large(&mut puppet, &mut stream);
    // All of it came, and its end was told: with unit 0 of another content it would be whole.
    victim.set_rate(Some(1_000_000));
    puppet.say(&Message::Resend {
        file: LARGE,
        generation: 0,
        unit: 0,
    });
    assert_eq!(stream.frame().0.offset, 0);
    // The last blocks are not read for seconds.
    put(&pair.from(), "folder/large", &content(LARGE_BYTES, 2));
    victim.set_rate(None);
    puppet.hear_until(|message| {
        matches!(message, Message::FileChanged { file: LARGE, .. }).then_some(())
    });
    puppet.say(&Message::Decisions {
        first: LARGE,
        generation: 1,
        decisions: vec![Decision::Send],
    });
    let rest = std::iter::from_fn(|| Some(stream.frame().0.generation));
    let blocks = 1 + rest.take_while(|generation| *generation == 0).count();
    assert!(blocks < 4, "all {blocks} blocks of the unit went again");
}

#[test]
fn what_did_not_come_over_a_stream_that_broke_comes_over_another() {
    let mut pair = Pair::new();
    fill(&pair.from());
    let (mut puppet, victim) = Puppet::destination(&mut pair);
    listed(&mut puppet);
    decide(&mut puppet, LARGE, vec![Decision::Send]);
    // Of five blocks four come: all of the first unit.
    let mut first = puppet.stream(0);
    let offsets: Vec<u64> = (0..4).map(|_| first.frame().0.offset).collect();
    assert_eq!(offsets, [0, 1 << 18, 2 << 18, 3 << 18]);
    let lost = |stream, frames| Message::StreamEnd { stream, frames };
    puppet.say(&lost(0, 4));
    puppet
        .hear_until(|message| matches!(message, Message::StreamBroken { stream: 0 }).then_some(()));
    let mut second = puppet.stream(1);
    let (header, payload) = second.frame();
    assert_eq!((header.offset, payload.len()), (1 << 20, 32 + 7));
    puppet.hear_until(|message| {
        matches!(message, Message::FileEnd { file: LARGE, .. }).then_some(())
    });
    decide(&mut puppet, SMALL, vec![Decision::Send]);
    let batch = second.frame();
    assert_eq!(batch.0.kind, FrameType::Batch);
    // Said twice, it is sent again once.
    puppet.say(&lost(1, 1));
    puppet.say(&lost(1, 0));
    let mut third = puppet.stream(2);
    assert_eq!(third.frame(), batch);
    let done = [LARGE, SMALL].map(|id| (id, FileResult::Done));
    puppet.say(&Message::Results(done.into()));
    let ended = end(&mut puppet, &victim);
    assert_eq!(code(&ended), None);
}

#[test]
fn messages_that_are_not_a_destinations_end_the_attempt() {
    break_the_protocol("entries", |puppet| {
        puppet.say(&Message::Items {
            first: 0,
            items: vec![file("x", 1)],
        });
    });
    break_the_protocol("the end of a file", |puppet| {
        puppet.say(&Message::FileEnd {
            file: LARGE,
            generation: 0,
        });
    });
    break_the_protocol("an end that is confirmed", |puppet| {
        puppet.say(&Message::EndConfirmed);
    });
}

/// What the source says of the small file, decided upon after `meanwhile` was done to it; each change makes it ask anew.
fn delivered(meanwhile: impl Fn(&Path, u16)) -> Code {
    let mut pair = Pair::new();
    fill(&pair.from());
    let (mut puppet, _victim) = Puppet::destination(&mut pair);
    let _stream = puppet.stream(0);
    listed(&mut puppet);
    let mut generation = 0;
    loop {
        meanwhile(&pair.from().join("small"), generation);
        puppet.say(&Message::Decisions {
            first: SMALL,
            generation,
            decisions: vec![Decision::Send],
        });
        let failed = puppet.hear_until(|message| match message {
            Message::FileChanged { file: SMALL, .. } => Some(None),
            Message::FileFailed {
                file: SMALL,
                failure,
            } => Some(Some(failure.clone())),
            _ => None,
        });
        let Some(failure) = failed else {
            generation += 1;
            continue;
        };
        let place = "`from/small` in root `root`: ";
        assert!(failure.message.starts_with(place), "{failure:?}");
        return failure.code;
    }
}

#[test]
fn a_file_that_keeps_changing_fails_as_changed() {
    let code = delivered(|path, generation| {
        std::fs::write(path, vec![b'x'; 10 + usize::from(generation)]).expect("written");
    });
    assert_eq!(code, Code::SourceChanged);
}

#[test]
fn a_file_that_vanished_since_it_was_listed_fails_as_vanished() {
    let code = delivered(|path, _| std::fs::remove_file(path).expect("removed"));
    assert_eq!(code, Code::SourceVanished);
}
