import pytest
from clients import role_at

from skillopt.models.base import CallError, Reply
from skillopt.models.ledger import Ledger, LedgerReader, per_phase, read_ledger
from skillopt.models.store import StoreError
from skillopt.records import Usage

ROLE = role_at("http://localhost/v1")
KNOWN = Usage(calls=1, prompt=10, cached=4, completion=2, reasoning=1)
PARTLY = Usage(calls=1, prompt=10, completion=2)


def ledger(root, phase="rollout", label="1", run="demo"):
    return Ledger(root, run=run, phase=phase, label=label)


def test_accounts_add_up_by_role_phase_and_label(tmp_path):
    first, second = ledger(tmp_path), ledger(tmp_path, label="2")
    first.replied("made", "k1", ROLE, Reply(text="", usage=KNOWN, seconds=0.5))
    first.replied("made", "k2", ROLE, Reply(text="", usage=KNOWN))
    first.replied("replayed", "k1", ROLE, Reply(text="", usage=KNOWN))
    first.failed("k3", ROLE, CallError("x", code="http_429", transient=True), 0.1)
    first.failed("k3", ROLE, CallError("x", kind="timeout"), 0.1)
    second.replied("made", "k4", ROLE, Reply(text="", usage=KNOWN))
    ledger(tmp_path, run="other").replied("made", "k5", ROLE, Reply(text="", usage=KNOWN))
    one, two = read_ledger(tmp_path, "demo").totals
    assert (one.role, one.phase, one.label) == ("target", "rollout", "1")
    assert (one.made, one.replayed, one.failed, one.keys) == (2, 1, 2, 2)
    assert one.usage == Usage(calls=2, prompt=20, cached=8, completion=4, reasoning=2)
    assert one.replayed_usage == KNOWN
    assert one.errors == {"http_429": 1, "timeout": 1}
    assert (two.label, two.made) == ("2", 1)
    (total,) = per_phase(read_ledger(tmp_path, "demo"))
    assert (total.label, total.made, total.usage.prompt) == ("", 3, 30)


def test_what_a_provider_does_not_tell_stays_unknown(tmp_path):
    book = ledger(tmp_path)
    for usage in (KNOWN, PARTLY):
        book.replied("made", "k", ROLE, Reply(text="", usage=usage))
    (total,) = read_ledger(tmp_path, "demo").totals
    assert total.usage == Usage(calls=2, prompt=20, cached=None, completion=4, reasoning=None)


def test_a_torn_line_is_counted_and_left_out(tmp_path):
    book = ledger(tmp_path)
    book.replied("made", "k1", ROLE, Reply(text="", usage=KNOWN))
    book.replied("made", "k2", ROLE, Reply(text="", usage=KNOWN))
    (path,) = tmp_path.rglob("*.jsonl")
    path.write_bytes(path.read_bytes()[:-20])
    accounts = read_ledger(tmp_path, "demo")
    assert (accounts.torn, accounts.totals[0].made) == (1, 1)


def test_a_line_is_on_disk_before_the_call_goes_on(tmp_path):
    book = ledger(tmp_path)
    assert not list(tmp_path.rglob("*.jsonl"))
    for number in range(3):
        book.replied("made", "k", ROLE, Reply(text="", usage=KNOWN))
        assert read_ledger(tmp_path, "demo").totals[0].made == number + 1


def test_labels_of_any_kind_give_file_names(tmp_path):
    book = ledger(tmp_path, label="../a b/ü:1")
    book.replied("made", "k", ROLE, Reply(text="", usage=KNOWN))
    (path,) = tmp_path.rglob("*.jsonl")
    assert path.parent == tmp_path / "ledger" / "demo"
    assert read_ledger(tmp_path, "demo").totals[0].label == "../a b/ü:1"


def test_accounts_that_cannot_be_written_stop_the_phase(tmp_path):
    (tmp_path / "ledger").write_text("")
    with pytest.raises(StoreError, match="cannot write the accounts"):
        ledger(tmp_path).replied("made", "k", ROLE, Reply(text=""))


def test_a_run_without_calls_has_no_accounts(tmp_path):
    assert read_ledger(tmp_path, "demo").totals == ()


def test_a_reader_sees_what_has_been_written_since(tmp_path):
    reader, book = LedgerReader(tmp_path, "demo"), ledger(tmp_path)
    for made in (1, 2, 3):
        book.replied("made", f"k{made}", ROLE, Reply(text="", usage=KNOWN))
        (total,) = reader.accounts().totals
        assert (total.made, total.usage.prompt) == (made, 10 * made)
    assert reader.accounts().totals == (total,)
