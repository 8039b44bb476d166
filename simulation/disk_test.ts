import t from "tap";
import { createStateStore } from "../agent/index.ts";
import { nullLog, seededRandom } from "../kube/index.ts";
import { Disk } from "./disk.ts";
import { ProcessClock, VirtualClock } from "./virtual_clock.ts";

/** A disk with a state that was saved whole, and how lives of an agent use it. */
async function saved() {
  const clock = new VirtualClock(0);
  const disk = new Disk(clock, seededRandom(1));
  const live = () => {
    const process = new ProcessClock(clock);
    return { process, store: createStateStore(disk.files(process), nullLog) };
  };
  const read = async (): Promise<unknown> => {
    let content: unknown;
    void live()
      .store.read("images")
      .then((found) => {
        content = found;
      });
    await clock.pass(100);
    return content;
  };
  live().store.write("images", "first");
  await clock.pass(100);
  return { clock, disk, live, read };
}

t.test("an agent that dies at any step of saving leaves what was saved, before or now", async (t) => {
  const left: unknown[] = [];
  for (let steps = 1; steps <= 5; steps++) {
    const { clock, disk, live, read } = await saved();
    const { process, store } = live();
    disk.afterSteps(steps, () => process.die());
    store.write("images", "second");
    await clock.pass(100);
    left.push(await read());
  }
  t.same(left, ["first", "first", "first", "first", "second"]);
});

t.test("a full disk keeps what was saved, and takes what comes once it is free", async (t) => {
  const { clock, disk, live, read } = await saved();
  const { store } = live();
  disk.fill();
  store.write("images", "second");
  await clock.pass(100);
  t.equal(await read(), "first");
  disk.free();
  store.write("images", "third");
  await clock.pass(100);
  t.equal(await read(), "third");
  t.equal(disk.damagedAt, 300);
});

t.test("torn, damaged and lost files are not read: the ones before them are, or nothing", async (t) => {
  for (const how of ["half", "garbage"] as const) {
    const { disk, read } = await saved();
    disk.tear(0.5, how);
    t.equal(await read(), undefined, how);
  }
  const { disk, clock, live, read } = await saved();
  live().store.write("images", "second");
  await clock.pass(100);
  // Of images.json and images.json.old.
  disk.tear(0, "garbage");
  t.equal(await read(), "first");
  disk.lose(0.9);
  t.equal(await read(), undefined);
});
