"""Choose which of several senders to follow: another sender on the network must not displace the performer."""

HANDOVER_S = 2.0
"""s without a packet after which another sender may replace the followed one."""


class SenderChoice:
    """Follows the first sender until it is silent for HANDOVER_S, or another is chosen.

    A sender is the IP address of a machine: its programs may use any number of ports.
    """

    def __init__(self, only_sender: str = "") -> None:
        """only_sender: the only sender to follow; empty for the first that sends."""
        self.followed = ""
        """The sender that is followed; empty before its first packet."""
        self.ignored_sender = ""
        """The last sender that was ignored; empty if there is none."""
        self.ignored_packets = 0
        """Number of packets of other senders."""
        self._only_sender = only_sender
        self._last_heard = 0.0
        """s on the clock of the arrivals."""

    def accepts(self, sender: str, arrival: float) -> bool:
        """Return whether to read a packet that arrived at `arrival` s. Other packets are counted."""
        expected = self._only_sender or self.followed
        if not expected or sender == expected or (not self._only_sender and arrival - self._last_heard > HANDOVER_S):
            return True
        self.ignored_sender, self.ignored_packets = sender, self.ignored_packets + 1
        return False

    def note_packet(self, sender: str, arrival: float) -> bool:
        """Follow the sender of a valid packet. Return whether another sender was followed before."""
        changed = self.followed not in ("", sender)
        if sender == self.ignored_sender:
            self.ignored_sender = ""
        self.followed, self._last_heard = sender, arrival
        return changed

    def follow(self, sender: str) -> None:
        """Follow this sender only."""
        self._only_sender = sender
