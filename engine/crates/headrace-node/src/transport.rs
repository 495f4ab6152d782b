//! Connections of the control plane: TLS in which keys are names, and connections that somebody else vouches for.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use headrace_core::sealed::{PublicKey, SigningKey};
use headrace_core::value::Timestamp;
use headrace_io::tls::{self, ALPN_CONTROL, Identity};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use crate::problem::{ControlCode, Problem};

/// Longest wait for a connection and its handshake.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often an idle control connection is probed, and how long the answer may take.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Streams of a control connection at once: the node's own, its listings, and the lists that it fetches.
pub(crate) const MAX_STREAMS: u32 = 64;
/// What may lie unread of one stream: at a round trip of 100 ms, a listing of some 60,000 entries a second.
pub(crate) const STREAM_WINDOW: u32 = 512 << 10;
/// What may lie unread of all of them. With less, listings that wait for each other would leave no room for one another,
/// and none for orders.
pub(crate) const CONNECTION_WINDOW: u32 = MAX_STREAMS * STREAM_WINDOW;

/// What time it is; tests pass their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The system's clock.
#[must_use]
pub fn system_clock() -> Clock {
    Arc::new(|| Timestamp::from(std::time::SystemTime::now()))
}

/// Bytes in both directions, whatever carries them.
pub trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A connection whose other end is known by its key.
pub(crate) struct Identified {
    wire: Box<dyn Wire>,
    peer: Peer,
    /// What it holds while it lives: its places among those that are limited.
    _held: Option<Box<dyn Send>>,
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// The key that it proved.
    pub(crate) key: PublicKey,
    /// Where it is; nowhere in this process or behind a pipe.
    pub(crate) from: Option<SocketAddr>,
}

/// A handshake that failed.
pub(crate) struct BrokenOff {
    pub(crate) error: io::Error,
    /// Whether the other side asked for a key by its name.
    pub(crate) by_name: bool,
}

impl BrokenOff {
    /// Whether the other side wants somebody with another key.
    pub(crate) fn expects_another_key(&self) -> bool {
        self.said(tls::is_own_key_refused)
    }

    /// Whether it went away, or said nothing, before anything was wrong: as who looks whether a port is open.
    pub(crate) fn is_silent(&self) -> bool {
        !self.said(|_| true)
    }

    fn said(&self, what: impl Fn(&rustls::Error) -> bool) -> bool {
        let inner = self.error.get_ref().and_then(|inner| inner.downcast_ref());
        inner.is_some_and(what)
    }
}

impl Identified {
    pub(crate) fn new(wire: Box<dyn Wire>, peer: Peer, held: Option<Box<dyn Send>>) -> Self {
        Self {
            wire,
            peer,
            _held: held,
        }
    }

    /// The key at the other end.
    pub(crate) const fn peer(&self) -> PublicKey {
        self.peer.key
    }
}

impl Connected for Identified {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer
    }
}

impl AsyncRead for Identified {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_read(cx, buf)
    }
}

impl AsyncWrite for Identified {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(cx)
    }
}

/// Takes TLS connections of any key; what a key may do is decided call by call.
#[derive(Clone)]
pub(crate) struct Acceptor {
    keys: Vec<PublicKey>,
    tls: Arc<rustls::ServerConfig>,
}

impl Acceptor {
    /// Answers with the first of these keys, and with another one to who asks for that by name.
    pub(crate) fn new(keys: &[&SigningKey]) -> Result<Self, Problem> {
        let identities: Vec<Identity> = keys
            .iter()
            .map(|key| identity(key))
            .collect::<Result<_, _>>()?;
        let config =
            tls::server_config_of(&identities, Arc::new(|_: &PublicKey| true), ALPN_CONTROL)
                .map_err(tls_problem)?;
        Ok(Self {
            keys: keys.iter().map(|key| key.public()).collect(),
            tls: config,
        })
    }

    /// Whether these are its keys.
    pub(crate) fn has(&self, keys: &[&SigningKey]) -> bool {
        keys.iter()
            .map(|key| key.public())
            .eq(self.keys.iter().copied())
    }

    pub(crate) async fn accept(
        &self,
        (stream, from): (TcpStream, SocketAddr),
        held: impl Send + 'static,
    ) -> Result<Identified, BrokenOff> {
        let mut by_name = false;
        let shaken = timeout(CONNECT_TIMEOUT, self.shake(stream, &mut by_name)).await;
        let shaken = shaken.unwrap_or_else(|late| Err(late.into()));
        let (stream, key) = shaken.map_err(|error| BrokenOff { error, by_name })?;
        let peer = Peer {
            key,
            from: Some(from),
        };
        Ok(Identified::new(
            Box::new(stream),
            peer,
            Some(Box::new(held)),
        ))
    }

    async fn shake(
        &self,
        stream: TcpStream,
        by_name: &mut bool,
    ) -> io::Result<(TlsStream<TcpStream>, PublicKey)> {
        stream.set_nodelay(true)?;
        let begun = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await?;
        *by_name = begun.client_hello().server_name().is_some();
        let stream = begun.into_stream(Arc::clone(&self.tls)).await?;
        let key =
            tls::peer_key(stream.get_ref().1.peer_certificates()).map_err(io::Error::other)?;
        Ok((stream, key))
    }
}

/// As [`dial`]. Should the hub answer with another key, it is asked for this one by name: it keeps a former key for a while, for nodes that
/// were away.
///
/// # Errors
/// As of [`dial`].
pub(crate) async fn dial_hub(
    address: &str,
    pin: PublicKey,
    key: &SigningKey,
) -> Result<(Box<dyn Wire>, std::net::IpAddr), Problem> {
    match dial(address, pin, key).await {
        Err(problem) if problem.is(ControlCode::WrongPeerKey) => {
            let config =
                tls::client_config(&identity(key)?, pin, ALPN_CONTROL).map_err(tls_problem)?;
            connect(
                address,
                pin,
                tls::asking_by_name(&config),
                tls::name_of(pin),
            )
            .await
        }
        dialled => dialled,
    }
}

/// A TLS connection to whoever has this key at an address, and the address it was made from.
///
/// # Errors
/// [`ControlCode::WrongPeerKey`] when somebody with another key answers, [`ControlCode::HubUnreachable`] when nobody does.
pub(crate) async fn dial(
    address: &str,
    pin: PublicKey,
    key: &SigningKey,
) -> Result<(Box<dyn Wire>, std::net::IpAddr), Problem> {
    let config = tls::client_config(&identity(key)?, pin, ALPN_CONTROL).map_err(tls_problem)?;
    connect(address, pin, config, tls::peer_name()).await
}

async fn connect(
    address: &str,
    pin: PublicKey,
    config: Arc<tls::ClientConfig>,
    name: tls::ServerName<'static>,
) -> Result<(Box<dyn Wire>, std::net::IpAddr), Problem> {
    let unreachable = |detail: String| {
        Problem::new(
            ControlCode::HubUnreachable,
            format!("the service at `{address}` can't be reached: {detail}"),
        )
    };
    let connected = timeout(CONNECT_TIMEOUT, async {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let local = stream.local_addr()?.ip();
        let stream = tokio_rustls::TlsConnector::from(config)
            .connect(name, stream)
            .await?;
        Ok::<_, io::Error>((Box::new(stream) as Box<dyn Wire>, local))
    });
    match connected.await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) if is_wrong_key(&error) => Err(Problem::new(
            ControlCode::WrongPeerKey,
            format!(
                "`{address}` answers with another key than {pin}, which it must have; if the service's key was replaced while \
                 this node was away, and its time was over more than a week ago, join again with a token of `headrace ca rotate`"
            ),
        )),
        Ok(Err(error)) => Err(unreachable(error.to_string())),
        Err(_) => Err(unreachable(format!(
            "no answer within {} s",
            CONNECT_TIMEOUT.as_secs()
        ))),
    }
}

fn is_wrong_key(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    inner.is_some_and(tls::is_wrong_key)
}

fn identity(key: &SigningKey) -> Result<Identity, Problem> {
    Identity::new(key).map_err(tls_problem)
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "used as a function that maps errors"
)]
fn tls_problem(error: tls::TlsError) -> Problem {
    Problem::new(
        ControlCode::Internal,
        format!("TLS can't be set up: {error}"),
    )
}

/// HTTP/2 over one connection; it is not made again when it breaks.
pub(crate) async fn channel(wire: Box<dyn Wire>) -> Result<tonic::transport::Channel, Problem> {
    let mut wire = Some(hyper_util::rt::TokioIo::new(wire));
    let connector = tower::service_fn(move |_: tonic::transport::Uri| {
        let wire = wire
            .take()
            .ok_or_else(|| io::Error::other("the connection is over"));
        std::future::ready(wire)
    });
    let endpoint = tonic::transport::Endpoint::from_static("http://hub.headrace.invalid")
        .connect_timeout(CONNECT_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .keep_alive_while_idle(true);
    let connected = endpoint.connect_with_connector(connector).await;
    connected.map_err(|error| {
        Problem::new(
            ControlCode::HubUnreachable,
            format!("the control connection failed: {error}"),
        )
    })
}
