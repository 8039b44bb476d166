/** Cron jobs that have stopped for good: `migrate check` and `refit why` say so, with a command that revives them. */
import t from "tap";
import { applyMergePatch, isJsonObject } from "../../kube/core/index.ts";
import { run } from "../../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../../testkit/cli/fake_cluster.ts";
import { toAnyObject } from "../fields.ts";

const cronJobs = "advancedcronjobs.apps.kruise.io";

function cronJob(name: string, schedule: string, more: object = {}, status: object = {}) {
  return toAnyObject({
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "AdvancedCronJob",
    metadata: {
      name,
      namespace: "shop",
      uid: `uid-${name}`,
      resourceVersion: "1",
      creationTimestamp: "2025-12-01T00:00:00Z",
    },
    spec: { schedule, timeZone: "UTC", template: { broadcastJobTemplate: {} }, ...more },
    status,
  });
}

t.test("what is dead is listed with the command that revives it, in check and in why", async (t) => {
  const fake = fakeCluster();
  const dead = cronJob("dead", "*/5 * * * *");
  for (const job of [
    dead,
    cronJob("running", "*/5 * * * *", {}, { lastScheduleTime: "2025-12-02T00:00:00Z" }),
    cronJob("yearly", "0 0 1 1 *"),
    cronJob("deadline", "*/5 * * * *", { startingDeadlineSeconds: 600 }),
  ])
    fake.put(cronJobs, job);
  const lines = (await run("migrate check", { client: fake.client })).stdout.split("\n");
  const found = lines.filter((line) => line.includes("missed more than 100 times"));
  t.equal(found.length, 1, found.join("\n"));
  const [, command = ""] = / to revive it: (.*)$/.exec(found[0] ?? "") ?? [];
  t.equal(
    command,
    `kubectl patch advancedcronjob.apps.kruise.io/dead -n shop --type merge -p '{"spec":{"startingDeadlineSeconds":60}}'`,
  );
  const why = () => run("why acj/dead -n shop", { client: fake.client });
  t.match((await why()).stdout, `next: ${command}`);
  t.match(
    (await why()).stdout,
    /TooManyMissedTimes +too many missed start times \(> 100\) since 2025-12-01T00:00:00Z/,
  );
  // As it is pasted.
  const patch: unknown = JSON.parse(/-p '(.*)'$/.exec(command)?.[1] ?? "");
  fake.put(cronJobs, toAnyObject(applyMergePatch({ ...dead }, isJsonObject(patch) ? patch : {})));
  const revived = (await why()).stdout;
  t.notMatch(revived, "TooManyMissedTimes");
  t.match(revived, /the next run is due at/);
});
