//! A node against whoever connects to it, or answers in the place of another node.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use headrace_core::code::Code;
use headrace_core::message::{Hello, MAX_STREAMS, Message, Order, Role};
use headrace_core::name::RelPath;
use headrace_node::session::{AttemptEnd, AttemptHandle, Outcome, Peer, start};

use crate::puppet::{Puppet, code, dial, file, hear, hello, is_closed, send, small};
use crate::session_support::{Node, Pair, node_key, put, tree};

/// Let node 3 be expected at the destination, for another transfer than that of the pair.
fn expect_another_node(pair: &mut Pair) -> AttemptHandle {
    let ours = pair.ticket.clone();
    pair.ticket.transfer = "tr_2".parse().expect("an id");
    pair.ticket.source_node = node_key(3).public();
    pair.ticket.execution.source.node = node_key(3).public();
    pair.ticket.execution.destination.path = RelPath::from_bytes(b"other").expect("a path");
    let other = start(&pair.destination.plane, pair.destination_spec()).expect("it starts");
    pair.ticket = ours;
    other
}

/// The session of a puppet that has nothing to send comes to its end.
fn ends_well(puppet: &mut Puppet, victim: &AttemptHandle) {
    ends_well_after(0, puppet, victim);
}

/// The session of a puppet that has announced so many entries and sent them comes to its end.
fn ends_well_after(count: u64, puppet: &mut Puppet, victim: &AttemptHandle) {
    puppet.say(&Message::ItemsEnd { count });
    puppet.hear_until(|message| matches!(message, Message::End(_)).then_some(()));
    puppet.say(&Message::EndConfirmed);
    assert_eq!(victim.wait().outcome, Outcome::Complete);
}

#[test]
fn another_node_that_is_expected_for_another_transfer_says_hello_in_vain() {
    let mut pair = Pair::new();
    let _other = expect_another_node(&mut pair);
    let (mut puppet, victim) = Puppet::source(&mut pair);
    let mut foreign = puppet.connection_of(3);
    send(
        &mut foreign,
        &Message::Hello(hello(&pair.ticket, Role::Source)),
    );
    match hear(&mut foreign) {
        Some(Message::Bye(failure)) => assert_eq!(
            (failure.code, failure.message.as_str()),
            (Code::WrongPeerKey, "the ticket names another node")
        ),
        other => panic!("{other:?} instead of a refusal"),
    }
    ends_well(&mut puppet, &victim);
}

#[test]
fn another_node_joins_no_session_even_with_the_sessions_secret() {
    let mut pair = Pair::new();
    let _other = expect_another_node(&mut pair);
    let (mut puppet, victim) = Puppet::source(&mut pair);
    let mut foreign = puppet.connection_of(3);
    let join = puppet.join(&foreign, 0);
    send(&mut foreign, &Message::Join(join));
    assert!(is_closed(&mut foreign));
    ends_well(&mut puppet, &victim);
}

#[test]
fn a_data_connection_with_a_wrong_token_joins_no_session() {
    let mut pair = Pair::new();
    let (mut puppet, victim) = Puppet::source(&mut pair);
    let (mut first, mut second) = (puppet.connection_of(1), puppet.connection_of(1));
    let mut copied = puppet.join(&second, 0);
    send(&mut first, &Message::Join(copied.clone()));
    assert!(is_closed(&mut first), "the token of another connection");
    copied.index = 1;
    send(&mut second, &Message::Join(copied));
    assert!(is_closed(&mut second), "the token of another stream");
    let mut third = puppet.connection_of(1);
    let mut join = puppet.join(&third, 0);
    join.session[0] ^= 1;
    send(&mut third, &Message::Join(join));
    assert!(is_closed(&mut third), "another session");
    let mut fourth = puppet.connection_of(1);
    let mut join = puppet.join(&fourth, 0);
    join.transfer = "tr_9".parse().expect("an id");
    send(&mut fourth, &Message::Join(join));
    assert!(is_closed(&mut fourth), "a transfer that is not there");
    ends_well(&mut puppet, &victim);
}

#[test]
fn more_streams_than_a_session_may_have_end_the_attempt() {
    let mut pair = Pair::new();
    let (mut puppet, victim) = Puppet::source(&mut pair);
    let _streams: Vec<_> = (0..MAX_STREAMS)
        .chain([MAX_STREAMS])
        .map(|index| puppet.stream(index))
        .collect();
    let said = puppet.bye();
    assert_eq!(
        (said.code, said.message.as_str()),
        (
            Code::ProtocolViolation,
            "the other node opened too many streams"
        )
    );
    assert_eq!(code(&victim.wait()), Some(Code::ProtocolViolation));
}

#[test]
fn a_stream_has_a_number_that_no_other_had() {
    let mut pair = Pair::new();
    let (mut puppet, victim) = Puppet::source(&mut pair);
    puppet.say(&Message::Items {
        first: 0,
        items: vec![file("small", 5)],
    });
    puppet.hear_until(|message| matches!(message, Message::Decisions { .. }).then_some(()));
    // Of two on their way, either may be taken: only what it has brought shows that this one is.
    let mut first = puppet.stream(0);
    first.batch(&[small(0, b"bytes")]);
    puppet.hear_until(|message| matches!(message, Message::Results(_)).then_some(()));
    let mut second = puppet.stream(0);
    assert!(is_closed(&mut second.stream));
    // One that broke before it came may not come any more.
    puppet.say(&Message::StreamBroken { stream: 7 });
    let frames = puppet.hear_until(|message| match message {
        Message::StreamEnd { stream: 7, frames } => Some(*frames),
        _ => None,
    });
    assert_eq!(frames, 0);
    let mut late = puppet.stream(7);
    assert!(is_closed(&mut late.stream));
    ends_well_after(1, &mut puppet, &victim);
}

#[test]
fn a_connection_that_begins_with_anything_else_is_closed() {
    let mut pair = Pair::new();
    let (mut puppet, victim) = Puppet::source(&mut pair);
    let mut foreign = puppet.connection_of(1);
    send(&mut foreign, &Message::ItemsEnd { count: 0 });
    assert!(is_closed(&mut foreign));
    ends_well(&mut puppet, &victim);
}

/// What is wrong with a hello.
type Change = fn(&mut Hello);

/// What a waiting destination answers to this hello.
fn refused(change: impl FnOnce(&mut Hello)) -> (Code, Pair, AttemptHandle) {
    let mut pair = Pair::new();
    pair.ticket.attempt = 2;
    let victim = start(&pair.destination.plane, pair.destination_spec()).expect("it starts");
    let address = pair.destination.plane.address().expect("it listens");
    let mut stream = dial(1, address, node_key(2).public());
    let mut ours = hello(&pair.ticket, Role::Source);
    change(&mut ours);
    send(&mut stream, &Message::Hello(ours));
    match hear(&mut stream) {
        Some(Message::Bye(failure)) => (failure.code, pair, victim),
        other => panic!("{other:?} instead of a refusal"),
    }
}

fn ended(change: impl FnOnce(&mut Hello)) -> (Code, AttemptEnd) {
    let (code, _pair, victim) = refused(change);
    (code, victim.wait())
}

#[test]
fn a_node_of_another_version_is_told_so() {
    let (said, end) = ended(|hello| (hello.version_min, hello.version_max) = (7, 9));
    assert_eq!(said, Code::VersionUnsupported);
    let failure = end.failure.expect("a failure");
    assert_eq!(
        (failure.code, failure.message.as_str()),
        (
            Code::VersionUnsupported,
            "the other node speaks versions 7 to 9"
        )
    );
}

#[test]
fn a_source_that_lists_in_an_order_of_its_own_is_told_so() {
    let (said, end) = ended(|hello| hello.order = Order::Unknown(7));
    assert_eq!(said, Code::VersionUnsupported);
    let message = "the other node lists in the order 7, which is not known here";
    assert_eq!(end.failure.expect("a failure").message, message);
}

#[test]
fn hellos_that_make_no_sense_end_the_attempt() {
    let senseless: [(&str, Change); 7] = [
        ("another shard", |hello| hello.shard.number = 1),
        ("another fencing number", |hello| hello.shard.fence += 1),
        ("the same role", |hello| hello.role = Role::Destination),
        ("units of three bytes", |hello| hello.unit_bytes = 3),
        ("units of a terabyte", |hello| hello.unit_bytes = 1 << 40),
        ("no window", |hello| hello.window = 0),
        ("too many streams", |hello| hello.streams = MAX_STREAMS + 1),
    ];
    for (named, change) in senseless {
        let (said, end) = ended(change);
        assert_eq!(said, Code::ProtocolViolation, "{named}");
        assert_eq!(code(&end), Some(Code::ProtocolViolation), "{named}");
    }
}

#[test]
fn hellos_of_another_plan_or_attempt_are_refused_and_the_attempt_goes_on() {
    let foreign: [(Code, Change); 3] = [
        (Code::TicketForeign, |hello| hello.plan.0[0] ^= 1),
        (Code::AttemptSuperseded, |hello| hello.attempt = 1),
        (Code::PeerUnreachable, |hello| hello.attempt = 3),
    ];
    for (expected, change) in foreign {
        let (said, pair, victim) = refused(change);
        assert_eq!(said, expected);
        put(&pair.from(), "file", b"1");
        let source = start(&pair.source.plane, pair.source_spec()).expect("it starts");
        assert_eq!(source.wait().outcome, Outcome::Complete, "{expected}");
        assert_eq!(victim.wait().outcome, Outcome::Complete, "{expected}");
    }
}

#[test]
fn another_node_that_answers_is_named_as_one() {
    let pair = Pair::new();
    put(&pair.from(), "file", b"1");
    let impostor = Node::new(9);
    let address = impostor.plane.address().expect("it listens");
    let mut spec = pair.source_spec();
    spec.peer = Peer::Dial(vec![address]);
    let source = start(&pair.source.plane, spec).expect("it starts");
    let failure = source.wait().failure.expect("a failure");
    assert_eq!(failure.code, Code::WrongPeerKey);
    assert_eq!(
        failure.message,
        format!("dialling {address}: it holds another key than the expected one")
    );
    assert!(tree(&impostor.data).is_empty());
}

#[test]
fn silent_connections_keep_nobody_out_and_are_closed() {
    let mut pair = Pair::new();
    let (mut puppet, victim) = Puppet::source(&mut pair);
    let address = pair.destination.plane.address().expect("it listens");
    let mut silent: Vec<TcpStream> = (0..60)
        .map(|_| TcpStream::connect(address).expect("a connection"))
        .collect();
    // The first bytes of a handshake, and then nothing.
    silent[0].write_all(&[22, 3, 1, 2, 0, 1]).expect("written");
    // A whole handshake, and then nothing.
    let mut shaken = puppet.connection_of(1);
    let _stream = puppet.stream(0);
    ends_well(&mut puppet, &victim);
    assert!(is_closed(&mut shaken));
    for mut socket in silent {
        let limit = Some(Duration::from_secs(30));
        socket.set_read_timeout(limit).expect("a time limit");
        // Nothing, or a TLS alert, and then the end.
        let mut rest = Vec::new();
        let closed = socket.read_to_end(&mut rest);
        let waited = closed.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!waited, "a silent connection stays open");
    }
}
