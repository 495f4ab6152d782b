"""Who is measured, each on the same files and over the same path."""

from benchmarks.peers.ends import Ends, Peer
from benchmarks.peers.gridftp import GridFtp
from benchmarks.peers.headrace import Headrace
from benchmarks.peers.inside import LOCAL, Copy
from benchmarks.peers.iperf import Iperf
from benchmarks.peers.rclone import Rclone
from benchmarks.peers.rsync import RsyncDaemon
from benchmarks.peers.ssh import over_ssh

__all__ = ["LOCAL", "Copy", "Ends", "GridFtp", "Headrace", "Iperf", "Peer", "Rclone", "RsyncDaemon", "over_ssh"]
