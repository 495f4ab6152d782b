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
    use headrace_core::sealed::SigningKey;
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;
    use crate::hub::HubOptions;
    use crate::proto::control_client::ControlClient;
    use tonic::Streaming;

    use crate::problem::ControlCode;
    use crate::proto::{FromNode, Hello, SHARES, ToNode, VERSIONS, Versions, from_node};

    const LINKS: &str = r#"{"links": []}"#;

    /// A hub with links for a node of these features, which is attached, and what the node hears.
    struct Attached {
        hub: Hub,
        node: PublicKey,
        hears: Streaming<ToNode>,
        _says: tokio::sync::mpsc::Sender<FromNode>,
        _folder: tempfile::TempDir,
    }

    async fn attached(features: u64) -> Attached {
        let folder = tempfile::tempdir().expect("a folder");
        let options = HubOptions {
            state_dir: folder.path().join("hub"),
            listen: None,
            max_nodes: 8,
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
            _folder: folder,
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

    #[tokio::test]
    async fn a_node_of_before_is_not_asked_what_its_host_is_like() {
        let attached = attached(SHARES).await;
        let asked = attached.hub.look_at_host(attached.node, None).await;
        let problem = asked.expect_err("nobody asks it");
        assert_eq!(problem.code, ControlCode::VersionUnsupported.as_str());
    }
}
