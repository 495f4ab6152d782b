//! The links of nodes: kept here while the hub runs, because a node keeps them only while it runs.

use std::sync::Arc;

use headrace_core::sealed::PublicKey;
use headrace_core::shares::Links;

use super::link::Link;
use super::{Hub, Shared};
use crate::problem::Problem;
use crate::proto::to_node;

impl Hub {
    /// Lets a node schedule these links (JSON) and no others; it hears them again whenever it attaches. One that is away hears them
    /// then, one that schedules no links is not told.
    ///
    /// # Errors
    /// `shares_invalid`: nothing is changed then; what the node says.
    pub async fn set_shares(&self, node: PublicKey, shares: &str) -> Result<(), Problem> {
        Links::parse(shares)?;
        self.shared
            .node_links
            .lock()
            .insert(node, shares.to_owned());
        let told = to_node::Message::SetShares(shares.to_owned());
        match self.shared.link(node) {
            Ok(link) if link.knows(&told) => link.command(told).await,
            _ => Ok(()),
        }
    }
}

impl Shared {
    /// Tells a node that has just attached its links.
    pub(super) async fn tell_links(&self, link: &Arc<Link>) {
        let mut last = None;
        loop {
            let links = self.node_links.lock().get(&link.node).cloned();
            if links == last {
                return;
            }
            // What came meanwhile may have overtaken this: then it is told again.
            if let Some(links) = &links {
                let told = to_node::Message::SetShares(links.clone());
                if !link.knows(&told) || link.tell(told).await.is_err() {
                    return;
                }
            }
            last = links;
        }
    }
}

#[cfg(test)]
mod tests {
    use headrace_core::sealed::{Document, DocumentType, SigningKey};
    use headrace_core::value::Digest;
    use headrace_core::wishes::Wishes;
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;
    use crate::hub::HubOptions;
    use crate::proto::control_client::ControlClient;
    use tonic::Streaming;

    use crate::problem::ControlCode;
    use crate::proto::{FromNode, Hello, PROBES, SHARES, ToNode, VERSIONS, Versions, from_node};

    const LINKS: &str = r#"{"links": []}"#;

    /// A hub with links for a node of these features, which is attached, and what the node hears.
    struct Attached {
        hub: Hub,
        node: PublicKey,
        hears: Streaming<ToNode>,
        _says: tokio::sync::mpsc::Sender<FromNode>,
        folder: tempfile::TempDir,
    }

    async fn attached(features: u64) -> Attached {
        let folder = tempfile::tempdir().expect("a folder");
        let options = HubOptions {
            state_dir: folder.path().join("hub"),
            listen: None,
            max_nodes: 8,
            enrolled: std::collections::HashSet::new(),
            clock: crate::transport::system_clock(),
        };
        let hub = Hub::start(options).await.expect("a hub");
        let node = SigningKey::from_seed(&[1; 32]).public();
        hub.enroll(node);
        hub.set_shares(node, LINKS).await.expect("kept");
        let (theirs, ours) = tokio::io::duplex(64 << 10);
        hub.adopt(Box::new(theirs), node).await.expect("open");
        let wire = crate::transport::channel(Box::new(ours)).await;
        let mut client = ControlClient::new(wire.expect("a channel"));
        let hello = Hello {
            versions: Some(Versions {
                features,
                ..VERSIONS
            }),
            clock_unix_ms: crate::transport::system_clock()().unix_ms(),
            ..Hello::default()
        };
        let (out, messages) = tokio::sync::mpsc::channel(4);
        let first = FromNode {
            call: 0,
            message: Some(from_node::Message::Hello(hello)),
        };
        out.send(first).await.expect("sent");
        let attached = client.attach(ReceiverStream::new(messages)).await;
        let mut hears = attached.expect("attached").into_inner();
        let welcome = next(&mut hears).await;
        assert!(matches!(welcome, to_node::Message::Welcome(_)));
        hub.shared.events.next(1).await;
        Attached {
            hub,
            node,
            hears,
            _says: out,
            folder,
        }
    }

    async fn next(hears: &mut Streaming<ToNode>) -> to_node::Message {
        let message = hears.message().await.expect("whole").expect("a message");
        message.message.expect("one that is known")
    }

    /// What a node with these features hears after its welcome when the hub has links for it, and then closes.
    async fn heard(features: u64) -> to_node::Message {
        let mut attached = attached(features).await;
        let link = attached.hub.shared.link(attached.node).expect("attached");
        link.close(super::super::closed());
        next(&mut attached.hears).await
    }

    #[tokio::test]
    async fn a_node_hears_its_links_when_it_attaches_and_one_that_schedules_none_is_not_told() {
        assert_eq!(
            heard(SHARES).await,
            to_node::Message::SetShares(LINKS.to_owned())
        );
        assert!(matches!(heard(0).await, to_node::Message::Goodbye(_)));
    }

    /// A ticket with a leg of a probe, from a node to itself.
    fn body_of_leg(node: PublicKey) -> serde_json::Value {
        let place = serde_json::json!({"node": node, "root": "data", "path": ["a"]});
        let empty = serde_json::json!({"count": "0", "digest": Digest::of(b"")});
        let now = crate::transport::system_clock()();
        serde_json::json!({
            "id": "tk_1", "plan_digest": Digest::of(b"plan"), "transfer": "tr_1", "attempt": "1",
            "shard": {"fence": "1", "number": "0"}, "person": "ada", "source_node": node, "destination_node": node,
            "execution": {
                "action": "copy", "source": place, "destination": place,
                "filters": {"include": [], "exclude": [], "min_size": null, "max_size": null, "modified_after_ns": null, "modified_before_ns": null},
                "on_conflict": "fail", "compare": "size-mtime", "preserve": [], "verify": "in-transit", "checksums": [],
                "encryption": "required", "delete_source": false, "delete_extraneous": false, "max_files": "1", "max_bytes": "1",
                "max_entries": "1", "overwrites": empty, "deletes": empty, "rate_ceiling_bps": null, "qos_class": "bulk",
                "probe": {"max_seconds": "1"}
            },
            "rate_ceiling_bps": null, "only_failed": false, "not_before": now, "expires": now.plus_ms(900_000),
            "site": "", "project": "", "local_account": "", "leg": {"reads": "memory", "writes": "memory"}
        })
    }

    fn sealed(body: &serde_json::Value) -> String {
        let key = SigningKey::from_seed(&[2; 32]);
        let document = Document::seal(DocumentType::Ticket, body, &[&key]);
        document.expect("a small body").text()
    }

    /// The text of a ticket that keeps what it deletes, from a node to itself.
    fn keeping(node: PublicKey) -> String {
        let mut body = body_of_leg(node);
        body.as_object_mut().expect("a ticket").remove("leg");
        let execution = body["execution"].as_object_mut().expect("an execution");
        execution.remove("probe");
        execution["action"] = serde_json::json!("move");
        execution["delete_source"] = serde_json::json!(true);
        execution.insert("trash".to_owned(), serde_json::json!({"keep_days": "30"}));
        sealed(&body)
    }

    #[tokio::test]
    async fn a_node_of_before_is_handed_no_plan_that_keeps_what_it_deletes() {
        let attached = attached(SHARES | PROBES).await;
        let folder = attached.folder.path();
        let ticket = keeping(attached.node);
        let handed = attached
            .hub
            .start_attempt(&ticket, (folder, folder), "", Wishes::default());
        let problem = handed.await.expect_err("it would delete");
        assert_eq!(problem.code, ControlCode::VersionUnsupported.as_str());
        assert!(problem.to_string().contains("knows no trash"), "{problem}");
    }

    #[tokio::test]
    async fn a_node_of_before_is_handed_no_leg_of_a_probe_and_is_named() {
        let attached = attached(SHARES).await;
        let folder = attached.folder.path();
        let ticket = sealed(&body_of_leg(attached.node));
        let handed = attached
            .hub
            .start_attempt(&ticket, (folder, folder), "", Wishes::default());
        let problem = handed.await.expect_err("it knows none");
        assert_eq!(problem.code, ControlCode::VersionUnsupported.as_str());
        assert!(problem.to_string().contains(&attached.node.to_string()));
    }

    #[tokio::test]
    async fn a_node_of_before_is_not_asked_to_empty_its_trashes() {
        let attached = attached(SHARES).await;
        let until = crate::transport::system_clock()();
        let asked = attached.hub.empty_trash(attached.node, until).await;
        asked.expect("nobody waits for an answer that does not come");
    }

    #[tokio::test]
    async fn a_node_of_before_is_not_asked_what_its_host_is_like() {
        let attached = attached(SHARES).await;
        let asked = attached.hub.look_at_host(attached.node, None).await;
        let problem = asked.expect_err("nobody asks it");
        assert_eq!(problem.code, ControlCode::VersionUnsupported.as_str());
    }
}
