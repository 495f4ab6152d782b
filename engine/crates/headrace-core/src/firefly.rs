//! `SciTags` fireflies: UDP packets that tell a collector whose data a connection carries, and how much of it went by.
//!
//! A packet is a syslog header (RFC 5424) and JSON of the schema `firefly` version 1 of the `SciTags` specification.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

use crate::value::Timestamp;

/// The largest number of an experiment, and of an activity, that fits beside the other into a `SciTag`.
pub const MAX_EXPERIMENT: u32 = 1023;
/// See [`MAX_EXPERIMENT`].
pub const MAX_ACTIVITY: u32 = 63;

/// Facility local0, severity informational.
const PRIORITY: u8 = 16 * 8 + 6;

/// Whose data it is, and what for, by the numbers of the `SciTags` registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Who: an experiment or community.
    pub experiment: u32,
    /// What for, by numbers of that experiment.
    pub activity: u32,
}

/// A data connection, from the end that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaggedFlow {
    /// This end.
    pub source: SocketAddr,
    /// The other end.
    pub destination: SocketAddr,
    /// Whose data it carries.
    pub tag: Tag,
    /// Since when it is open.
    pub started: Timestamp,
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It was opened.
    Start,
    /// It goes on.
    Ongoing,
    /// It was closed.
    End,
}

/// What went over a connection since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Bytes that came.
    pub received: u64,
    /// Bytes that went, and that the other end acknowledged.
    pub sent: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Body {
    version: u8,
    flow_lifecycle: Lifecycle,
    flow_id: FlowId,
    usage: Usage,
    context: Context,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Lifecycle {
    state: State,
    start_time: String,
    current_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct FlowId {
    afi: &'static str,
    src_ip: IpAddr,
    dst_ip: IpAddr,
    protocol: &'static str,
    src_port: u16,
    dst_port: u16,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Context {
    experiment_id: u32,
    activity_id: u32,
    application: &'static str,
}

impl TaggedFlow {
    /// The packet that says where it stands at `now`; `host` is what this host calls itself.
    #[must_use]
    pub fn packet(&self, state: State, usage: Usage, now: Timestamp, host: &str) -> Vec<u8> {
        // Sockets of IPv6 have addresses of IPv4 in a form of their own.
        let [source, destination] =
            [self.source, self.destination].map(|end| end.ip().to_canonical());
        let body = Body {
            version: 1,
            flow_lifecycle: Lifecycle {
                state,
                start_time: self.started.to_string(),
                current_time: now.to_string(),
                end_time: (state == State::End).then(|| now.to_string()),
            },
            flow_id: FlowId {
                afi: if source.is_ipv4() { "ipv4" } else { "ipv6" },
                src_ip: source,
                dst_ip: destination,
                protocol: "tcp",
                src_port: self.source.port(),
                dst_port: self.destination.port(),
            },
            usage,
            context: Context {
                experiment_id: self.tag.experiment,
                activity_id: self.tag.activity,
                application: concat!("headrace v", env!("CARGO_PKG_VERSION")),
            },
        };
        let name: String = host
            .chars()
            .filter(char::is_ascii_graphic)
            .take(255)
            .collect();
        let name = if name.is_empty() { "-" } else { &name };
        let mut packet =
            format!("<{PRIORITY}>1 {now} {name} headrace - firefly-json - ").into_bytes();
        // Numbers, addresses and words of our own: there is nothing that is no JSON.
        packet.extend(serde_json::to_vec(&body).unwrap_or_default());
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: TaggedFlow = TaggedFlow {
        source: SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7)), 40_000),
        destination: SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 9)), 7443),
        tag: Tag {
            experiment: 14,
            activity: 3,
        },
        started: Timestamp::from_unix_ms(1_700_000_000_000),
    };

    fn text(flow: &TaggedFlow, state: State, host: &str) -> String {
        let usage = Usage {
            received: 5,
            sent: 1_000_000,
        };
        let now = FLOW.started.plus_ms(61_500);
        String::from_utf8(flow.packet(state, usage, now, host)).expect("text")
    }

    #[test]
    fn a_packet_is_as_the_specification_has_it() {
        let application = concat!("headrace v", env!("CARGO_PKG_VERSION"));
        let expected = |state: &str, end: &str| {
            format!(
                "<134>1 2023-11-14T22:14:21.500Z dtn1 headrace - firefly-json - {{\"version\":1,\"flow-lifecycle\":{{\"state\":\"{state}\",\
                 \"start-time\":\"2023-11-14T22:13:20.000Z\",\"current-time\":\"2023-11-14T22:14:21.500Z\"{end}}},\"flow-id\":{{\"afi\":\"ipv4\",\
                 \"src-ip\":\"192.0.2.7\",\"dst-ip\":\"198.51.100.9\",\"protocol\":\"tcp\",\"src-port\":40000,\"dst-port\":7443}},\
                 \"usage\":{{\"received\":5,\"sent\":1000000}},\"context\":{{\"experiment-id\":14,\"activity-id\":3,\
                 \"application\":\"{application}\"}}}}"
            )
        };
        assert_eq!(text(&FLOW, State::Start, "dtn1"), expected("start", ""));
        assert_eq!(text(&FLOW, State::Ongoing, "dtn1"), expected("ongoing", ""));
        let end = ",\"end-time\":\"2023-11-14T22:14:21.500Z\"";
        assert_eq!(text(&FLOW, State::End, "dtn1"), expected("end", end));
    }

    #[test]
    fn addresses_of_both_families_are_written_as_they_are() {
        let of = |source: &str| {
            let source = source.parse().expect("an address");
            text(&TaggedFlow { source, ..FLOW }, State::Start, "dtn1")
        };
        assert!(of("[2001:db8::7]:1").contains(r#""afi":"ipv6","src-ip":"2001:db8::7""#));
        assert!(of("[::ffff:192.0.2.7]:1").contains(r#""afi":"ipv4","src-ip":"192.0.2.7""#));
    }

    #[test]
    fn a_name_of_a_host_leaves_the_header_whole() {
        let header = |host| {
            let whole = text(&FLOW, State::Start, host);
            whole.split('{').next().map(str::to_owned)
        };
        let named = |name: &str| {
            Some(format!(
                "<134>1 2023-11-14T22:14:21.500Z {name} headrace - firefly-json - "
            ))
        };
        assert_eq!(header(""), named("-"));
        assert_eq!(header("a b\n<0>é"), named("ab<0>"));
    }
}
