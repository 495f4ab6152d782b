//! Both directions of one connection in memory, cut into pieces of any size.

use proptest::prelude::*;
use rustls::{CipherSuite, KeyLog};

use super::*;
use crate::secrets::Secrets;

const SUITES: [(CipherSuite, usize); 3] = [
    (CipherSuite::TLS13_AES_128_GCM_SHA256, 32),
    (CipherSuite::TLS13_AES_256_GCM_SHA384, 48),
    (CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, 32),
];

/// Both ends of what a client sends.
fn pair((suite, secret_bytes): (CipherSuite, usize)) -> (Sealer, Opener) {
    let keys = || {
        let secrets = Secrets::new();
        for label in ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"] {
            secrets.log(label, &[], &vec![7; secret_bytes]);
        }
        let (client, _) = secrets.take().expect("both secrets");
        Keys::new(suite, client).expect("a suite of TLS 1.3")
    };
    let owed = KeyUpdateOwed::default();
    (
        Sealer::new(keys(), Arc::clone(&owed)),
        Opener::new(keys(), owed),
    )
}

fn seal(sealer: &mut Sealer, head: &[u8], body: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut send = |sealed: &[u8]| {
        wire.extend_from_slice(sealed);
        Ok(())
    };
    sealer.write_all(head, body, &mut send).expect("sealed");
    wire
}

/// A socket that gives what is in `wire` in pieces of these sizes, again and again, and then the end.
fn pieces<'w>(
    mut wire: &'w [u8],
    sizes: &'w [usize],
) -> impl FnMut(&mut [u8]) -> io::Result<usize> + 'w {
    let mut sizes = sizes.iter().cycle();
    move |room| {
        let size = *sizes.next().unwrap_or(&1);
        let (now, later) = wire.split_at(size.min(wire.len()).min(room.len()));
        room[..now.len()].copy_from_slice(now);
        wire = later;
        Ok(now.len())
    }
}

fn content(length: usize) -> Vec<u8> {
    (0..=250).cycle().take(length).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_written_is_read_however_both_are_cut(
        suite in prop::sample::select(SUITES.to_vec()),
        writes in prop::collection::vec((0..100_usize, 0..300_000_usize), 1..4),
        received in prop::collection::vec(prop_oneof![1..50_usize, 1..300_000_usize], 1..6),
        reads in prop::collection::vec(prop_oneof![1..50_usize, 1..300_000_usize], 1..6),
        records_per_key in 1..40_u64,
    ) {
        let (mut sealer, mut opener) = pair(suite);
        sealer.records_per_key = records_per_key;
        let whole = content(writes.iter().map(|(head, body)| head + body).sum());
        let (mut wire, mut rest) = (Vec::new(), &whole[..]);
        for (head, body) in writes {
            let (head, more) = rest.split_at(head);
            let (body, more) = more.split_at(body);
            wire.append(&mut seal(&mut sealer, head, body));
            prop_assert!(sealer.keys.used() <= records_per_key);
            rest = more;
        }
        let mut receive = pieces(&wire, &received);
        let (mut reads, mut at) = (reads.iter().cycle(), 0);
        while at < whole.len() {
            let size = reads.next().map_or(1, |size| (*size).min(whole.len() - at));
            let mut out = vec![0; size];
            opener.read_exact(&mut out, &mut receive).expect("content");
            prop_assert!(out == whole[at..at + size]);
            at += size;
        }
        let end = opener.read_exact(&mut [0], &mut receive).expect_err("the end");
        prop_assert_eq!(end.to_string(), "the connection was cut off");
    }

    #[test]
    fn nothing_that_was_altered_is_taken_for_content(
        length in 1..100_000_usize,
        altered in any::<prop::sample::Index>(),
        bit in 0..8_u32,
        received in prop::collection::vec(1..100_000_usize, 1..4),
    ) {
        let (mut sealer, mut opener) = pair(SUITES[1]);
        let whole = content(length);
        let mut wire = seal(&mut sealer, &[], &whole);
        let at = altered.index(wire.len());
        wire[at] ^= 1 << bit;
        let mut out = vec![0; length];
        let mut receive = pieces(&wire, &received);
        // A length that was altered may also make it wait for what never comes.
        prop_assert!(opener.read_exact(&mut out, &mut receive).is_err());
        let again = opener.read_exact(&mut [0], &mut receive);
        prop_assert!(again.is_err());
    }

    #[test]
    fn any_bytes_are_refused_or_waited_for(
        bytes in prop::collection::vec(any::<u8>(), 0..70_000),
        is_record in any::<bool>(),
        size in 1..70_000_usize,
    ) {
        let (_, mut opener) = pair(SUITES[0]);
        let mut wire = bytes;
        if is_record && wire.len() >= HEADER_BYTES {
            wire[..3].copy_from_slice(&[APPLICATION_DATA, 3, 3]);
        }
        let mut out = vec![0; size];
        prop_assert!(opener.read_exact(&mut out, &mut pieces(&wire, &[size])).is_err());
    }
}

#[test]
fn a_peer_that_sends_nothing_but_empty_records_is_refused() {
    let (mut sealer, mut opener) = pair(SUITES[0]);
    for _ in 0..=MAX_EMPTY_RECORDS {
        sealer
            .put(APPLICATION_DATA, &mut [&[], &[]])
            .expect("sealed");
    }
    let wire = sealer.outbound.clone();
    let error = opener
        .read_exact(&mut [0], &mut pieces(&wire, &[wire.len()]))
        .expect_err("refused");
    assert_eq!(error.to_string(), "TLS: too many records without content");
    assert_eq!(opener.refusal(), Some(10));
}

#[test]
fn what_has_no_place_after_a_handshake_is_refused_by_its_alert() {
    let ticket = [4, 0, 0, 1, 0];
    let too_long = vec![1; RECORD_BYTES + 1];
    for (kind, content, alert) in [
        (HANDSHAKE, &ticket[..], 10),
        (HANDSHAKE, &[KEY_UPDATE, 0, 0], 50),
        (HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 2], 47),
        (20, &[1], 10),
        (0, &[0], 10),
        (ALERT, &[1], 50),
        (APPLICATION_DATA, &too_long, 22),
    ] {
        let (mut sealer, mut opener) = pair(SUITES[0]);
        let wire = record(&mut sealer, kind, content);
        let error = opener
            .read_exact(&mut [0], &mut pieces(&wire, &[wire.len()]))
            .expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(opener.refusal(), Some(alert), "{kind} {content:?}");
    }
    let headers: [([u8; HEADER_BYTES], u8); 5] = [
        ([APPLICATION_DATA, 3, 3, 0xff, 0xff], 22),
        ([APPLICATION_DATA, 3, 3, 0, 16], 50),
        ([HANDSHAKE, 3, 3, 0, 40], 10),
        ([ALERT, 3, 3, 0, 2], 10),
        (*b"GET /", 50),
    ];
    for (header, alert) in headers {
        let (_, mut opener) = pair(SUITES[0]);
        let read = opener.read_exact(&mut [0], &mut pieces(&header, &[HEADER_BYTES]));
        assert!(read.is_err());
        assert_eq!(opener.refusal(), Some(alert), "{header:?}");
    }
}

/// One record of any length, as a peer may seal it.
fn record(sealer: &mut Sealer, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = [content, &[kind]].concat();
    let [high, low] = u16::try_from(bytes.len() + TAG_BYTES)
        .expect("a short one")
        .to_be_bytes();
    let header = [APPLICATION_DATA, 3, 3, high, low];
    let tag = sealer.keys.seal(header, &mut bytes).expect("sealed");
    [&header[..], &bytes, &tag].concat()
}

#[test]
fn a_peer_that_changes_its_keys_all_the_time_is_refused() {
    for (content, is_refused) in [(RECORD_BYTES / 2, false), (RECORD_BYTES / 2 - 1, true)] {
        let (mut sealer, mut opener) = pair(SUITES[0]);
        sealer.records_per_key = 1;
        let mut wire = Vec::new();
        for _ in 0..MAX_HASTY_UPDATES + 3 {
            wire.append(&mut seal(&mut sealer, &[], &vec![7; content]));
        }
        let mut out = vec![0; content * (MAX_HASTY_UPDATES as usize + 3)];
        let read = opener.read_exact(&mut out, &mut pieces(&wire, &[wire.len()]));
        assert_eq!(read.is_err(), is_refused, "{read:?}");
        assert_eq!(opener.refusal(), is_refused.then_some(10));
    }
}

#[test]
fn nothing_is_read_after_a_wait_that_was_given_up() {
    let (mut sealer, mut opener) = pair(SUITES[0]);
    let whole = content(3 * RECORD_BYTES);
    let wire = seal(&mut sealer, &[], &whole);
    let (first, rest) = wire.split_at(RECORD_BYTES + 9);
    let sizes = [wire.len()];
    let mut first = pieces(first, &sizes);
    let mut out = vec![0; 3 * RECORD_BYTES];
    let given_up = opener.read_exact(&mut out, &mut |room| match first(room)? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        count => Ok(count),
    });
    assert_eq!(
        given_up.expect_err("given up").kind(),
        io::ErrorKind::TimedOut
    );
    let again = opener.read_exact(&mut out, &mut pieces(rest, &[rest.len()]));
    assert_eq!(
        again.expect_err("cut").to_string(),
        "the connection was cut off"
    );
    assert_eq!(opener.refusal(), None);
}

#[test]
fn a_wish_for_new_keys_is_granted_with_the_next_record() {
    let (mut sealer, mut opener) = pair(SUITES[0]);
    sealer
        .put(HANDSHAKE, &mut [&[KEY_UPDATE, 0, 0, 1, 1], &[]])
        .expect("sealed");
    sealer.keys.update().expect("keys");
    let mut wire = sealer.outbound.clone();
    wire.extend(seal(&mut sealer, b"after", b""));
    let mut out = [0; 5];
    opener
        .read_exact(&mut out, &mut pieces(&wire, &[wire.len()]))
        .expect("content");
    assert_eq!(&out, b"after");
    // Both directions share what is owed here, so this sealer grants it.
    assert_eq!(sealer.keys.used(), 1);
    seal(&mut sealer, b"more", b"");
    assert_eq!(sealer.keys.used(), 1);
    assert!(!opener.owed.load(Ordering::Acquire));
}

#[test]
fn why_the_other_side_left_is_said_by_name() {
    let (mut sealer, mut opener) = pair(SUITES[0]);
    sealer.put(ALERT, &mut [&[2, 49], &[]]).expect("sealed");
    let wire = sealer.outbound.clone();
    let error = opener
        .read_exact(&mut [0], &mut pieces(&wire, &[wire.len()]))
        .expect_err("it left");
    assert_eq!(
        error.to_string(),
        "TLS: the other side ended the connection: AccessDenied"
    );
}
