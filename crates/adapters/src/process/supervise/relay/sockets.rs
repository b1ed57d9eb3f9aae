//! The listening sockets of a tree: bound inside its network, and passed to the supervisor outside.

use super::super::super::sys;
use super::names::{Names, RESOLVER};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The maximum number of descriptors that the kernel passes in one message.
const MOST: usize = 253;

/// The sockets on which the relay listens.
pub(super) struct Sockets {
    pub(super) questions: UdpSocket,
    pub(super) long_questions: TcpListener,
    pub(super) listeners: Vec<TcpListener>,
}

impl Sockets {
    pub(super) fn new(handed: Vec<OwnedFd>) -> io::Result<Self> {
        let mut handed = handed.into_iter();
        let mut next = || {
            handed
                .next()
                .ok_or_else(|| io::Error::other("a socket is missing"))
        };
        let questions = UdpSocket::from(next()?);
        let long_questions = TcpListener::from(next()?);
        let listeners: Vec<TcpListener> = handed.map(TcpListener::from).collect();
        questions.set_nonblocking(true)?;
        for listener in listeners.iter().chain([&long_questions]) {
            listener.set_nonblocking(true)?;
        }
        Ok(Self {
            questions,
            long_questions,
            listeners,
        })
    }
}

/// Binds all sockets, in the order in which [`Sockets::new`] expects them.
pub(in super::super) fn bind(names: &Names) -> io::Result<Vec<OwnedFd>> {
    for (number, address) in names.foreign_addresses().enumerate() {
        sys::add_loopback_address(number, address)?;
    }
    let mut all = vec![
        OwnedFd::from(UdpSocket::bind(RESOLVER)?),
        OwnedFd::from(TcpListener::bind(RESOLVER)?),
    ];
    for address in names.listeners() {
        let listener = TcpListener::bind(address)
            .map_err(|error| io::Error::other(format!("{address}: {error}")))?;
        all.push(listener.into());
    }
    Ok(all)
}

/// Sends these sockets; an empty list is sent too.
pub(in super::super) fn send(channel: &UnixStream, sockets: &[OwnedFd]) -> io::Result<()> {
    let sockets: Vec<BorrowedFd<'_>> = sockets.iter().map(OwnedFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !sockets.is_empty() && !message.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::Error::other("too many sockets"));
    }
    sendmsg(
        channel,
        &[IoSlice::new(b"s")],
        &mut message,
        SendFlags::empty(),
    )?;
    Ok(())
}

/// Receives the sockets that [`send`] sent.
pub(in super::super) fn receive(channel: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let into = &mut [IoSliceMut::new(&mut byte)];
    let got = recvmsg(channel, into, &mut message, RecvFlags::CMSG_CLOEXEC)?;
    if got.bytes == 0 {
        return Err(io::Error::other("it is gone"));
    }
    let mut all = Vec::new();
    for part in message.drain() {
        if let RecvAncillaryMessage::ScmRights(sockets) = part {
            all.extend(sockets);
        }
    }
    Ok(all)
}
