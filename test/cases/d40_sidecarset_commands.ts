import assert from "node:assert/strict";
import { container, podOf } from "./manifests.ts";
import { Sidecars } from "./sidecar_sets.ts";
import type { Suite } from "./suite.ts";
import type { World } from "./world.ts";

const sidecar = container("side", "busybox:1.32", { command: ["sleep", "999d"] });

/** What case 17 does with CloneSet, and the tree of case 18. */
export const suite: Suite = {
  number: "d40",
  title: "SidecarSet: rollout commands, plan, why and tree",
  needs: [],
  async run(world) {
    // Both versions may run at once, and what is not in the set's namespace is spoken of.
    const labels = { case: world.namespace };
    await world.apply(podOf("early", { labels }));
    const set = new Sidecars(world, "commands");
    const spec = { selector: { matchLabels: labels }, containers: [sidecar] };
    await set.during(spec, () => run(world, set, labels));
  },
};

async function run(world: World, set: Sidecars, labels: Record<string, string>): Promise<void> {
  const named = `sidecarset/${set.name}`;
  const object = `sidecarset.apps.kruise.io/${set.name}`;
  const command = world.refitLines.bind(world);
  const numbers = async () =>
    (await command("rollout", "history", named)).flatMap((row) => /^(\d+)\s/.exec(row)?.[1] ?? []);
  const finished = async () => {
    const lines = await command("rollout", "status", named);
    assert.equal(lines.at(-1), `sidecar set "${set.name}" successfully rolled out`);
  };
  const note = `Note: the selector matches 1 pod without sidecars of this set, which come with a pod's creation: pods get them when they are created again (${world.namespace}/early).`;

  await world.step("1 status, history, tree, and the pod that was there before", async () => {
    for (const name of ["a", "b"]) await world.apply(podOf(name, { labels }));
    await set.untilRow("2 2 2");
    await finished();
    assert.deepEqual(await numbers(), ["1"]);
    const rows = (await command("tree", named)).slice(1).map((row) => row.replaceAll(/[^\x20-\x7e]/g, ""));
    const cells = rows.map((row) => row.trim().split(/\s+/));
    assert.equal(cells.length, 4, rows.join("\n"));
    assert.equal(cells[0]?.[0], `SidecarSet/${set.name}`);
    assert.match(cells[1]?.[1] ?? "", new RegExp(`^ControllerRevision/${set.name}-[a-z0-9]+$`));
    assert.deepEqual(
      cells.slice(2).map((row) => row.slice(0, 3)),
      ["a", "b"].map((name) => [world.namespace, `Pod/${name}`, "True"]),
    );
    const why = await command("why", named);
    assert.deepEqual(why.slice(1), ["Nothing holds it back.", note]);
  });
  await world.step("2 pause, a new image: plan, why, resume", async () => {
    assert.deepEqual(await command("rollout", "pause", named), [`${object} paused`]);
    assert.match((await world.refit("rollout", "pause", named)).stderr, /is already paused/);
    await set.toImage("busybox:1.33");
    await set.untilRow("2 0 2");
    const paused =
      /Paused {2}2 pods keep their old sidecars\n {10}(for \S+; )?ends when paused is set to false/;
    assert.match((await world.refitAnswer(3, "why", named)).join("\n"), paused);
    const { status } = await set.get();
    const latest = JSON.parse(JSON.stringify(status)).latestRevision;
    const [summary, ...rest] = await command("plan", named);
    assert.equal(summary, `${object}: 2 pods, 0 at revision ${latest}, 2 ready`);
    assert.deepEqual(rest.slice(0, 2), ["Nothing to do.", "It waits for one reason:"]);
    assert.match(rest.join("\n"), paused);
    assert.equal(rest.at(-1), note);
    assert.deepEqual(await command("rollout", "resume", named), [`${object} resumed`]);
    await finished();
    await set.untilRow("2 2 2");
  });
  await world.step("3 undo: the first revision moves to the top", async () => {
    assert.deepEqual(await numbers(), ["1", "2"]);
    const first = (await command("rollout", "history", named, "--revision", "1")).join("\n");
    assert.match(first, /^Sidecars:$/m);
    assert.match(first, /^ +Image:\tbusybox:1\.32$/m);
    assert.deepEqual(await command("rollout", "undo", named), [`${object} rolled back`]);
    await finished();
    assert.deepEqual(await numbers(), ["2", "3"]);
    const [side] = (await world.pod("a")).spec?.containers ?? [];
    assert.deepEqual([side?.name, side?.image], ["side", "busybox:1.32"]);
    const skipped = `${object} skipped rollback (current set of sidecars already matches revision 3)`;
    assert.deepEqual(await command("rollout", "undo", named, "--to-revision", "3"), [skipped]);
  });
  await world.step("4 a selector, and what has no restart", async () => {
    await set.strategy({ selector: { matchLabels: { canary: "true" } } });
    await set.toImage("busybox:1.33");
    await set.untilRow("2 0 2");
    const why = (await command("why", named)).join("\n");
    assert.match(
      why,
      /Selector {2}2 pods keep their old sidecars: updateStrategy\.selector does not match them/,
    );
    await finished();
    await world.label("a", { canary: "true" });
    await set.untilRow("2 1 2");
    await finished();
    assert.match((await world.refit("rollout", "restart", named)).stderr, /restarting is not supported/);
  });
}
