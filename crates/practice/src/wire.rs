//! A listener whose connections can be cut from inside: what a lost answer or a dead line needs below HTTP.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// A handle to the connection a request came by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wire {
    cut: Arc<AtomicBool>,
}

impl Wire {
    /// The next write fails and the connection is reset: nothing more arrives at the client.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::Release);
    }

    fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }
}

/// The loopback listener.
pub(crate) struct Loopback(pub(crate) TcpListener);

/// One of its connections.
pub(crate) struct Line {
    tcp: TcpStream,
    wire: Wire,
}

impl Listener for Loopback {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        let (tcp, from) = Listener::accept(&mut self.0).await;
        // Small frames go out at once; where that cannot be set they only come later.
        let _ = tcp.set_nodelay(true);
        (Line { tcp, wire: Wire::default() }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, Loopback>> for Wire {
    fn connect_info(stream: IncomingStream<'_, Loopback>) -> Self {
        stream.io().wire.clone()
    }
}

impl Line {
    fn refuse(&self) -> io::Error {
        // A reset, not a clean end; where it cannot be set the end is clean but early.
        let _ = self.tcp.set_zero_linger();
        io::ErrorKind::ConnectionReset.into()
    }
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(context, into)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        if self.wire.is_cut() {
            return Poll::Ready(Err(self.refuse()));
        }
        Pin::new(&mut self.tcp).poll_write(context, from)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.wire.is_cut() {
            return Poll::Ready(Err(self.refuse()));
        }
        Pin::new(&mut self.tcp).poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
