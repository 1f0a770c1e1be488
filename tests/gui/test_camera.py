"""The camera page in a real browser: videos frame by frame, a camera that is played from a file, the command."""

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.sync.client import connect

import knuckle
from knuckle import capture
from knuckle.capture.devices.browser import headless
from knuckle.capture.devices.browser_folder import sweep
from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.receiver import Receiver
from knuckle.capture.network.transport import Address
from knuckle.cli.main import main
from knuckle.hand import rotations as rot
from knuckle.hand.joints import JOINT_INDEX
from knuckle.tests.gui.browser import FAKE_CAMERA, ROOT, Page, bring_browser, opened
from knuckle.tests.gui.conftest import OUT
from knuckle.tests.pure.capture.devices.sockets import free_address, listening, wait_for

TAP = ROOT / "data" / "leap_finger_tap.json"
FRAMES = 8
STEADY = [index * 0.04 for index in range(60)]
VARIED = [0.0, *np.cumsum([0.02 + 0.03 * (index % 5) for index in range(59)]).round(3).tolist()]


@contextmanager
def page_of(address: Address, *flags: str) -> Iterator[tuple[Page, Receiver]]:
    """The page of the live device, open, and what receives from it."""
    receiver = Receiver("camera", DEVICES["camera"], address)
    receiver.start()
    try:
        wait_for(lambda: receiver.is_open)
        with opened(f"http://{address}/", flags) as page:
            page.wait_for("document.getElementById('said')?.textContent.match(/Ready|No camera/)")
            yield page, receiver
    finally:
        receiver.stop()


@pytest.fixture(scope="module")
def page_and_receiver() -> Iterator[tuple[Page, Receiver]]:
    """The page, able to make videos, and what receives from it."""
    with page_of(free_address()) as (opened_page, receiver):
        opened_page.evaluate((Path(__file__).with_name("camera_videos.js")).read_text())
        yield opened_page, receiver


@pytest.fixture(scope="module")
def page(page_and_receiver: tuple[Page, Receiver]) -> Page:
    """The page, able to make videos."""
    return page_and_receiver[0]


def test_a_computer_without_a_camera_is_reported_in_the_panel(page_and_receiver: tuple[Page, Receiver]) -> None:
    wait_for(lambda: page_and_receiver[1].state().startswith("No camera was found"))


@pytest.mark.parametrize("webm", [False, True])
@pytest.mark.parametrize(("times", "rate"), [(STEADY, 25.0), (VARIED, None)])
def test_every_frame_comes_once_at_its_own_time(page: Page, times: list[float], rate: float | None, webm: bool) -> None:
    how = json.dumps({"webm": webm})
    read = page.evaluate(f"made.numbered({times}, {how}).then(file => made.read(file))")
    assert [number for number, _ in read["seen"]] == list(range(len(times)))
    assert [time_s for _, time_s in read["seen"]] == pytest.approx(times, abs=6e-4)
    assert not read["sought"] and read["rate"] == (None if rate is None else pytest.approx(rate, rel=1e-3))


def test_a_video_that_is_turned_by_its_head_comes_upright(page: Page) -> None:
    read = page.evaluate("made.numbered([0, 0.04, 0.08], {rotation: 90}).then(file => made.read(file, true))")
    assert [number for number, _ in read["seen"]] == [0, 1, 2]
    assert (read["width"], read["height"]) == (64, 256)


@pytest.fixture
def without_webcodecs(page: Page) -> Iterator[Page]:
    """The page as in a browser that decodes no single frames."""
    page.evaluate("window.decoder = window.VideoDecoder; window.VideoDecoder = undefined; 0")
    yield page
    page.evaluate("window.VideoDecoder = window.decoder; 0")


@pytest.mark.parametrize(("times", "webm"), [(STEADY, False), (VARIED, True), (VARIED, False)])
def test_without_webcodecs_every_frame_is_sought_once(without_webcodecs: Page, times: list[float], webm: bool) -> None:
    how = json.dumps({"webm": webm})
    read = without_webcodecs.evaluate(f"made.numbered({times}, {how}).then(file => made.read(file))")
    assert read["sought"] and [number for number, _ in read["seen"]] == list(range(len(times)))
    assert [time_s for _, time_s in read["seen"]] == pytest.approx(times, abs=6e-4)


def test_without_webcodecs_turned_and_bad_videos_are_reported_too(without_webcodecs: Page) -> None:
    page = without_webcodecs
    read = page.evaluate("made.numbered([0, 0.04, 0.08], {rotation: 90}).then(file => made.read(file, true))")
    assert read["sought"] and [number for number, _ in read["seen"]] == [0, 1, 2]
    one = page.evaluate("made.numbered([0]).then(file => made.read(file))")
    assert [number for number, _ in one["seen"]] == [0]
    half = f"made.numbered({STEADY}).then(file => new File([file.slice(0, file.size / 2)], 'cut.mp4'))"
    said = page.evaluate(f"{half}.then(file => made.read(file)).catch(error => error.message)")
    assert said.startswith("cut.mp4 is damaged or cut off: ")


def test_a_page_whose_scripts_did_not_all_come_says_so() -> None:
    with page_of(free_address()) as (page, _):
        page.call("Network.setBlockedURLs", urls=["*/notes.js"])
        page.call("Page.reload")
        page.wait_for_text("said", "A part of this page did not load. Reload it.")


def test_a_player_that_fails_leaves_no_timer(page: Page) -> None:
    assert page.evaluate("""(async () => {
      const { setInterval: set, clearInterval: clear } = window;
      const timers = new Set();
      window.setInterval = (...how) => { const timer = set(...how); timers.add(timer); return timer; };
      window.clearInterval = timer => { timers.delete(timer); clear(timer); };
      const seeker = new (await import("./seeking.js")).Seeker(new File(["no video"], "notes.mp4"));
      const drawn = seeker.draw(null, 0, 0.04, 64, 64);
      const before = timers.size;
      document.querySelector("#stage video").dispatchEvent(new Event("error"));
      const seen = [before, await drawn, timers.size];
      Object.assign(window, { setInterval: set, clearInterval: clear });
      seeker.close();
      return seen;
    })()""") == [1, False, 0]


def test_a_camera_that_was_opened_again_gives_each_picture_once(page: Page) -> None:
    """In browsers that present a camera's frames in a video: what was asked of the first camera comes with the next."""
    assert (
        page.evaluate("""(async () => {
      const { MediaStreamTrackProcessor: processor } = window;
      const devices = navigator.mediaDevices;
      const track = { stop() {}, getSettings: () => ({ deviceId: "a" }) };
      const stream = { getTracks: () => [track], getVideoTracks: () => [track] };
      devices.getUserMedia = async () => stream;
      window.MediaStreamTrackProcessor = undefined;
      let asked = [];
      let worked = 0;
      const preview = { play: async () => {}, requestVideoFrameCallback: call => asked.push(call) };
      const camera = new (await import("./camera.js")).Camera(async () => { worked += 1; }, () => {});
      const seen = [];
      for (const time of [1, 2, 3]) {
        await camera.open("a", preview, () => {});
        const calls = asked;
        asked = [];
        worked = 0;
        for (const call of calls) {
          call(time, { captureTime: time, width: 1, height: 1 });
          await new Promise(then => setTimeout(then, 5));
        }
        seen.push([worked, asked.length]);
        camera.close(preview);
      }
      window.MediaStreamTrackProcessor = processor;
      delete devices.getUserMedia;
      return seen;
    })()""")
        == [[1, 1]] * 3
    )


@pytest.mark.parametrize(
    ("file", "reported"),
    [
        (
            f"made.numbered({STEADY}).then(file => new File([file.slice(0, file.size / 2)], 'cut.mp4'))",
            "cut.mp4 is dam",
        ),
        ("Promise.resolve(new File(['not a video'], 'notes.mp4'))", "notes.mp4 is not a video that can be read"),
        ("made.numbered([0]).then(file => new File([file], 'one.mp4'))", ""),
    ],
)
def test_bad_videos_are_reported_in_a_sentence(page: Page, file: str, reported: str) -> None:
    said = page.evaluate(f"{file}.then(file => made.read(file)).then(() => '', error => error.message)")
    assert said.startswith(reported) and bool(said) == bool(reported)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A video of the bundled take's first frames, and the take."""
    from knuckle.rig import blend_file, render

    take = knuckle.solve(str(TAP), end=FRAMES)
    blend_file.new_scene_with_take(take)
    path = tmp_path_factory.mktemp("videos") / "tap.mp4"
    picture = render.usable_settings()
    render.take_video(path, take, type(picture)(480, 270, picture.engine, picture.samples))
    return path, take


def test_a_rendered_video_becomes_a_capture_of_its_hand(rendered: tuple[Path, Any], tmp_path: Path, capsys) -> None:
    """MediaPipe's own landmarks of the bundled take are 10 to 17 mm off after alignment with scale."""
    video, take = rendered
    out = tmp_path / "tap.json"
    assert main(["track", str(video), "--out", str(out)]) == 0, capsys.readouterr().err
    markers = capture.read(out)
    assert {name.partition(":")[0] for name in markers.names} == {"right"}
    document = json.loads(out.read_text())
    assert (document["source"], document["width"], document["height"]) == ("tap.mp4", 480, 270)
    assert all(len(frame["hands"]) == 1 for frame in document["frames"])
    joints = knuckle.joints(take)["right_positions"][0]
    names = [name.partition(":")[2] for name in markers.names]
    truth = joints[[JOINT_INDEX[name] for name in names]]
    apart = np.linalg.norm(aligned(markers.positions[0], truth) - truth, axis=1)
    assert apart.mean() < 0.022, f"{1000 * apart.mean():.1f} mm"


def aligned(points: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Points (N, 3) rotated, moved and scaled onto the truth without mirroring, by Umeyama's solution."""
    centred, wanted = points - points.mean(axis=0), truth - truth.mean(axis=0)
    u, sizes, vt = np.linalg.svd(centred.T @ wanted)
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
    scale = (sizes * signs).sum() / (centred**2).sum()
    result: np.ndarray = scale * centred @ (u * signs) @ vt + truth.mean(axis=0)
    return result


def test_a_video_dropped_on_the_page_is_saved_and_sent(
    page_and_receiver: tuple[Page, Receiver], rendered: tuple[Path, Any], tmp_path: Path
) -> None:
    page, receiver = page_and_receiver
    drop(page, file_of(rendered[0]))
    page.wait_for_text("said", "a hand in")
    ((name, content),) = captures_sent_to(receiver)
    page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.evaluate("document.getElementById('download').click()")
    wait_for((tmp_path / "tap.json").exists)
    assert name == "tap" and json.loads(content) == json.loads((tmp_path / "tap.json").read_text())


def test_a_video_is_paused_and_cancelled(page_and_receiver: tuple[Page, Receiver]) -> None:
    page, receiver = page_and_receiver
    drop(page, f"await made.numbered({STEADY})")
    page.wait_for_text("count", "Frame 2")
    page.evaluate("document.getElementById('pause').click()")
    time.sleep(1.0)
    stands = page.text("count")
    time.sleep(1.0)
    assert page.text("count") == stands
    page.evaluate("document.getElementById('pause').click()")
    page.wait_for(f"document.getElementById('count').textContent != {stands!r}")
    page.evaluate("document.getElementById('cancel').click()")
    page.wait_for_text("said", "Cancelled")
    assert page.evaluate("document.getElementById('download').hidden") and receiver.take_captures() == []


def test_of_two_browsers_one_is_followed_and_the_other_reported(
    page_and_receiver: tuple[Page, Receiver], film: str, rendered: tuple[Path, Any]
) -> None:
    page, receiver = page_and_receiver
    with opened(page.evaluate("location.href"), (*FAKE_CAMERA, film)) as other:
        other.wait_for_text("said", "Ready")
        drop(page, f"await made.numbered({STEADY})")
        page.wait_for_text("count", "Frame 2")
        before = receiver.stats.frames
        other.evaluate("document.getElementById('start').click()")
        page.wait_for_text("said", "follows another page: save the landmarks here")
        wait_for(lambda: receiver.stats.frames > before)
        page.wait_for_text("said", "No hand is seen")
        drop(page, file_of(rendered[0]))
        other.wait_for_text("said", "Another page of Knuckle was started")
        page.wait_for_text("said", "a hand in")
        assert [json.loads(content)["source"] for _, content in captures_sent_to(receiver)] == ["tap.mp4"]
        wait_for(lambda: receiver.state().startswith("No camera was found"))


def captures_sent_to(receiver: Receiver) -> list[tuple[str, bytes]]:
    """The captures that a page said it had sent, once the receiver has read them."""
    captures = list[tuple[str, bytes]]()

    def has_come() -> bool:
        captures.extend(receiver.take_captures())
        return bool(captures)

    wait_for(has_come)
    return captures


def drop(page: Page, file: str) -> None:
    """Drop a file, a JavaScript expression, on the page."""
    page.evaluate(f"""(async () => {{
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add({file});
      document.body.dispatchEvent(new DragEvent("drop", {{ dataTransfer, cancelable: true }}));
    }})()""")


def file_of(video: Path) -> str:
    """A video as a JavaScript File."""
    content = base64.b64encode(video.read_bytes()).decode()
    return f'new File([Uint8Array.from(atob("{content}"), letter => letter.charCodeAt(0))], "tap.mp4")'


def test_a_video_without_hands_writes_nothing(page: Page, tmp_path: Path, capsys) -> None:
    video = tmp_path / "bars.mp4"
    video.write_bytes(base64.b64decode(page.evaluate("made.numbered([0, 0.04, 0.08]).then(made.bytes)")))
    assert main(["track", str(video), "--out", str(tmp_path / "bars.json")]) == 1
    assert "bars.mp4: no hand is seen in any of its 3 frames" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [video]


def test_a_killed_command_leaves_no_browser_and_no_address_to_read(page: Page, tmp_path: Path) -> None:
    video = tmp_path / "bars.mp4"
    video.write_bytes(base64.b64decode(page.evaluate(f"made.numbered({STEADY}).then(made.bytes)")))
    track = "for progress in track_video(Path(sys.argv[1])): print(progress.description, flush=True)"
    imports = "import sys; from pathlib import Path; from knuckle.capture.devices.video_tracking import track_video"
    command = [sys.executable, "-c", f"{imports}\n{track}", str(video)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        try:
            assert process.stdout is not None
            assert any(line.startswith("Frame 2 ") for line in process.stdout)
            (folder,) = tmp_path.glob("knuckle-browser-*")
            token = re.search(r":\d+(/[\w-]+/)", (folder / "start.html").read_text())
            running = command_lines()
            assert any(str(folder) in line for line in running)
            assert token is not None and not any(token[1] in line for line in running)
        finally:
            process.kill()
    wait_for(lambda: not any(str(folder) in line for line in command_lines()), 15)
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [video]


def command_lines() -> list[str]:
    """Of all processes, as every user of the computer can read them."""
    listed = subprocess.run(["ps", "-axwwo", "args="], check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


@pytest.fixture(scope="module")
def film(page: Page, rendered: tuple[Path, Any]) -> str:
    """The flag that has Chromium play the rendered video for a camera."""
    path = rendered[0].with_suffix(".mjpeg")
    path.write_bytes(jpegs(page, rendered[0]))
    return f"--use-file-for-fake-video-capture={path}"


def test_a_camera_is_followed_and_the_page_asks_nobody_else(film: str) -> None:
    address = free_address()
    with page_of(address, *FAKE_CAMERA, film) as (live, receiver):
        live.evaluate("document.getElementById('start').click()")
        wait_for(lambda: receiver.stats.frames >= 5, 60)
        frames = receiver.drain()
        assert np.isfinite(frames[-1].frame.positions[:1]).all() and receiver.stats.malformed == 0
        times = [timed.frame.time for timed in frames]
        assert (np.diff(times) > 0).all(), "frames come in their order"
        live.evaluate("document.getElementById('cameras').options[0].text = 'Webcam'")
        live.picture(OUT / "camera_page.png", 1200, 700)
        live.evaluate("document.getElementById('start').click()")
        live.wait_for_text("said", "Stopped")
        time.sleep(0.5)
        before = receiver.stats.frames
        time.sleep(1.0)
        assert receiver.stats.frames == before, "nothing is sent after Stop"
    hosts = {url.split("/")[2] for url in live.requests if not url.startswith(("blob:", "data:"))}
    assert hosts == {str(address)}, hosts
    assert any(url.endswith("hand_landmark_full.tflite") for url in live.requests), (
        "the workers' requests are seen, too"
    )


TRACK = "document.getElementById('preview').srcObject.getVideoTracks()[0]"


def test_whatever_interrupts_a_camera_is_reported_in_the_panel_and_it_goes_on_by_itself(film: str) -> None:
    address = free_address()
    with page_of(address, *FAKE_CAMERA, film) as (live, receiver):
        wait_for(lambda: "press Start camera there" in receiver.state())
        live.evaluate("document.getElementById('start').click()")
        goes_on(receiver)
        live.evaluate(f"{TRACK}.dispatchEvent(new Event('ended'))")
        wait_for(lambda: "was taken away" in receiver.state())
        time.sleep(3.5)
        assert "was taken away" in receiver.state(), "it is reported for as long as it is so"
        live.evaluate("navigator.mediaDevices.dispatchEvent(new Event('devicechange'))")
        goes_on(receiver)
        permit(live, "denied")
        wait_for(lambda: "no longer allows the camera" in receiver.state())
        permit(live, "granted")
        goes_on(receiver)
        live.call("Page.setWebLifecycleState", state="frozen")
        wait_for(lambda: "nothing received for" in receiver.state())
        live.call("Page.setWebLifecycleState", state="active")
        goes_on(receiver)
        live.evaluate(f"Object.defineProperty({TRACK}, 'muted', {{ value: true, configurable: true }}); {TRACK}.stop()")
        wait_for(lambda: "hold them back" in receiver.state())
        live.evaluate(f"delete {TRACK}.muted")
        goes_on(receiver)
        receiver.stop()
        live.wait_for_text("said", "the camera is off")
        again = Receiver("camera", DEVICES["camera"], address)
        again.start()
        goes_on(again)
        again.stop()
        with listening("camera", address) as last, connect(f"ws://{address}/") as other:
            other.send(json.dumps({"page": "other", "kind": "start"}))
            goes_on(last)
            live.call("Page.reload")
            live.wait_for_text("said", "Ready")
            wait_for(lambda: "press Start camera there" in last.state())


def goes_on(receiver: Receiver) -> None:
    """Wait until hands come again."""
    before = receiver.stats.frames
    wait_for(lambda: receiver.stats.frames > before, 60)


def permit(live: Page, setting: str) -> None:
    """Say whether the page may use the camera, as its user does beside the address."""
    live.call("Browser.setPermission", permission={"name": "camera"}, setting=setting)


def test_a_camera_moves_a_new_hand_in_blenders_window(
    play: Callable[[str], dict[str, Any]], film: str, rendered: tuple[Path, Any]
) -> None:
    address = free_address()
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "camera_port.json").write_text(json.dumps(address.port))
    done = threading.Event()
    camera = threading.Thread(target=film_for, args=(address, film, done))
    camera.start()
    try:
        seen = play("live_camera")
    finally:
        done.set()
        camera.join()
    assert f"open http://{address}/" in seen["waiting"] and seen["malformed"] == 0
    assert seen["hand"] == "Right Hand"
    assert 0.8 < seen["palm"] < 1.2, "a palm is about as long as its middle finger"
    assert 0.2 < seen["away"] < 2.0, "m before the camera"
    for finger, apart in apart_from_truth(rendered[1], seen["directions"]).items():
        # 2 to 15 degrees were measured.
        assert apart.min() < 30.0, f"{finger} points {apart.min():.0f} degrees elsewhere"


def apart_from_truth(take: Any, directions: dict[str, list[float]]) -> dict[str, np.ndarray]:
    """Finger -> (F,) degrees between where it points, in the wrist's axes, and where it did in each frame of a take."""
    joints = knuckle.joints(take)
    positions, wrists = joints["right_positions"], rot.to_matrix(joints["right_rotations"][:, JOINT_INDEX["wrist"]])
    apart = {}
    for finger, seen in directions.items():
        ends = (JOINT_INDEX[f"{finger}-finger-{part}"] for part in ("tip", "phalanx-proximal"))
        tip, first = (positions[:, joint] for joint in ends)
        truth = np.einsum("fij,fi->fj", wrists, (tip - first) / np.linalg.norm(tip - first, axis=1)[:, None])
        apart[finger] = np.degrees(np.arccos(np.clip(truth @ seen, -1, 1)))
    return apart


def test_a_video_dropped_on_blenders_window_becomes_keyed_hands_before_it(
    play: Callable[[str], dict[str, Any]], characters: Path, rendered: tuple[Path, Any]
) -> None:
    video, take = rendered
    shutil.rmtree(OUT / "video", ignore_errors=True)
    (OUT / "video").mkdir()
    shutil.copy(video, OUT / "video" / "tap.mp4")
    with browser_outside(OUT / "browser"):
        seen = play("video_drop")
    assert seen["new"] == ["CAMERA", "MESH"]
    scene = {"rate": pytest.approx(1 / np.diff(take.times).mean(), rel=0.02), "range": [1, FRAMES], "size": [480, 270]}
    assert seen["scene"] == scene | {"background": "tap.mp4", "capture": "tap 001.json"}
    assert max(seen["keys"]) == max(seen["body_keys"]) == FRAMES
    assert seen["off"] < 0.03, "the hand is where the video shows it"
    for frame, directions in enumerate(seen["directions"]):
        for finger, apart in apart_from_truth(take, directions).items():
            assert apart[frame] < 40.0, f"{finger} points {apart[frame]:.0f} degrees elsewhere on frame {frame + 1}"


@contextmanager
def browser_outside(folder: Path) -> Iterator[None]:
    """Play Chromium inside of the window's system: a program there tells the page, which is opened out here."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program, asked, done = folder / "chromium", folder / "start.html", threading.Event()
    program.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'cp "${last#file://}" "$(dirname "$0")/half" && mv "$(dirname "$0")/half" "$(dirname "$0")/start.html"\n'
        "exec sleep 600\n"
    )
    program.chmod(0o755)

    def open_page() -> None:
        while not done.wait(0.1):
            if asked.exists():
                with headless(bring_browser(), re.search('url=(.*?)"', asked.read_text())[1]):
                    done.wait()

    thread = threading.Thread(target=open_page)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def film_for(address: Address, film: str, done: threading.Event) -> None:
    """Open the page with a camera once Blender serves it, until it is enough."""
    while not done.is_set():
        with socket.socket() as sock:
            if sock.connect_ex((address.host, address.port)) == 0:
                break
        time.sleep(0.2)
    else:
        return
    with opened(f"http://{address}/", (*FAKE_CAMERA, film)) as live:
        live.wait_for_text("said", "Ready")
        live.evaluate("document.getElementById('start').click()")
        done.wait()


def jpegs(page: Page, video: Path) -> bytes:
    """A video as Chromium plays it for a camera."""
    return base64.b64decode(page.evaluate(f"made.jpegs({file_of(video)}).then(made.bytes)"))
