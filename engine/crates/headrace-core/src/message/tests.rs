//! What the messages promise, held against made-up ones.

use proptest::prelude::*;

use super::*;
use crate::manifest::tests::entries;
use crate::wire::Peeked;

fn codes() -> impl Strategy<Value = Code> {
    prop::sample::select(Code::ALL.to_vec())
}

fn ids() -> impl Strategy<Value = Id> {
    "tr_[A-Za-z0-9]{1,20}".prop_map(|text| text.parse().expect("an id"))
}

fn decisions() -> impl Strategy<Value = Vec<Decision>> {
    let ranges = prop::collection::vec(
        (0_u64..99, 0_u64..99).prop_map(|(start, end)| start..end),
        1..5,
    );
    let decision = prop_oneof![
        Just(Decision::Nothing),
        Just(Decision::Send),
        Just(Decision::Compare),
        ranges.prop_map(Decision::SendUnits),
    ];
    prop::collection::vec(decision, 0..50)
}

fn messages() -> impl Strategy<Value = Message> {
    let hello = (
        ids(),
        any::<[u64; 5]>(),
        any::<([u8; 32], [u8; 16])>(),
        any::<bool>(),
    )
        .prop_map(|(transfer, numbers, (plan, session), source)| {
            Message::Hello(Hello {
                version_min: 1,
                version_max: 3,
                features: numbers[0],
                role: if source {
                    Role::Source
                } else {
                    Role::Destination
                },
                transfer,
                attempt: numbers[1],
                plan: Digest(plan),
                shard: Shard::WHOLE,
                order: Order::Components,
                session,
                unit_bytes: numbers[2],
                window: 7,
                streams: 9,
            })
        });
    let join = (ids(), any::<([u8; 16], [u8; 32])>(), 0..MAX_JOINS).prop_map(
        |(transfer, (session, token), index)| {
            Message::Join(Join {
                transfer,
                session,
                index,
                token,
            })
        },
    );
    let result = prop_oneof![
        Just(FileResult::Done),
        any::<[u8; 32]>().prop_map(FileResult::Holds),
        codes().prop_map(FileResult::Failed),
    ];
    let results = prop::collection::vec((any::<u64>(), result), 0..30).prop_map(Message::Results);
    let failure = || (codes(), ".{0,50}").prop_map(|(code, message)| Failure::new(code, message));
    let file = || (any::<u64>(), any::<u16>());
    prop_oneof![
        hello,
        join,
        results,
        (any::<u64>(), entries()).prop_map(|(first, entry)| Message::Items {
            first,
            items: vec![Item::Entry(entry)]
        }),
        any::<u64>().prop_map(|count| Message::ItemsEnd { count }),
        (file(), decisions()).prop_map(|((first, generation), decisions)| Message::Decisions {
            first,
            generation,
            decisions
        }),
        file().prop_map(|(file, generation)| Message::FileEnd { file, generation }),
        (file(), entries()).prop_map(|((file, generation), entry)| Message::FileChanged {
            file,
            generation,
            entry
        }),
        (any::<u64>(), failure()).prop_map(|(file, failure)| Message::FileFailed { file, failure }),
        (any::<u64>(), any::<[u8; 32]>()).prop_map(|(file, hash)| Message::Compared { file, hash }),
        (file(), any::<u64>()).prop_map(|((file, generation), unit)| Message::Resend {
            file,
            generation,
            unit
        }),
        any::<([u64; 6], [u8; 32], [u8; 32])>().prop_map(|(counts, list_digest, list_root)| {
            let [files, bytes, identical, failed, deleted, resent_bytes] = counts;
            Message::End(Totals {
                files,
                bytes,
                identical,
                failed,
                deleted,
                resent_bytes,
                list_digest,
                list_root,
            })
        }),
        Just(Message::EndConfirmed),
        failure().prop_map(Message::Bye),
        (any::<u16>(), any::<u64>())
            .prop_map(|(stream, frames)| Message::StreamAt { stream, frames }),
        (any::<u16>(), any::<u64>())
            .prop_map(|(stream, frames)| Message::StreamEnd { stream, frames }),
        any::<u16>().prop_map(|stream| Message::StreamBroken { stream }),
        Just(Message::Alive),
    ]
}

proptest! {
    #[test]
    fn messages_survive_the_wire(message in messages()) {
        let frame = message.encode();
        let (header, payload) = frame.split_first_chunk().expect("a header");
        let Ok(Peeked::Known(header)) = Header::decode(header) else { panic!("a known frame") };
        prop_assert_eq!(payload.len(), usize::try_from(header.length).expect("small"));
        prop_assert_eq!(Message::decode(&header, payload), Ok(message));
    }

    #[test]
    fn any_payload_is_a_message_or_an_error(kind in 1..=16_u8, payload in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = Header::new(FrameType::Alive).encode();
        bytes[0] = kind;
        if let Ok(Peeked::Known(header)) = Header::decode(&bytes) {
            drop(Message::decode(&header, &payload));
        }
    }

    #[test]
    fn cut_messages_are_refused(message in messages(), keep in 0.0..1.0) {
        let frame = message.encode();
        let (header, payload) = frame.split_first_chunk().expect("a header");
        let Ok(Peeked::Known(header)) = Header::decode(header) else { panic!("a known frame") };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share")]
        let cut = &payload[..(payload.len() as f64 * keep) as usize];
        prop_assert!(cut.len() == payload.len() || Message::decode(&header, cut) != Ok(message));
    }
}

#[test]
fn a_short_count_of_decisions_cannot_ask_for_much_memory() {
    let mut payload = vec![0];
    payload.extend_from_slice(&u32::MAX.to_le_bytes());
    let header = Header::new(FrameType::Decisions);
    assert!(matches!(
        Message::decode(&header, &payload),
        Err(WireError::Payload(CodecError::Value { .. }))
    ));
}

#[test]
fn versions_meet_in_the_newest_both_speak() {
    let hello = |version_min, version_max| Hello {
        version_min,
        version_max,
        features: 0,
        role: Role::Source,
        transfer: "tr_1".parse().expect("an id"),
        attempt: 1,
        plan: Digest([0; 32]),
        shard: Shard::WHOLE,
        order: Order::Components,
        session: [0; 16],
        unit_bytes: 0,
        window: 0,
        streams: 0,
    };
    let (oldest, newest) = VERSIONS;
    assert_eq!(hello(1, newest + 2).common_version(), Some(newest));
    assert_eq!(hello(newest + 1, newest + 2).common_version(), None);
    assert_eq!(hello(1, oldest - 1).common_version(), None);
}
