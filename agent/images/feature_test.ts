import t from "tap";
import { KubeError } from "../../kube/index.ts";
import { temporaryFolder, testContext } from "../../testkit/agent/context_fixture.ts";
import { testClock } from "../../testkit/kube/fake_clock.ts";
import { testLog } from "../../testkit/kube/fake_log.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import { startImages } from "./feature.ts";

const keyring = { logins: async () => [] };
const unanswered = "the API server does not answer, images are pulled as wanted last";

for (const stopped of [false, true]) {
  t.test(
    `without an API server, ${stopped ? "a stopped agent does nothing" : "what was wanted last counts"}`,
    async (t) => {
      const folder = await temporaryFolder(t);
      const clock = testClock();
      const log = testLog();
      const away = async (): Promise<never> => {
        throw new KubeError("Network", "connection refused");
      };
      const client = { ...fakeServer({ streamingLists: false }).client, list: away, watch: away };
      const context = testContext(t, { client, clock, log }, folder);
      context.state.write("node_image", { name: "node-1", spec: {} });
      await context.state.flush();
      const feature = await startImages(context, keyring);
      if (stopped) await feature.stop();
      await clock.advance(20_000);
      t.equal(
        log.lines.some(({ message }) => message === unanswered),
        !stopped,
      );
      if (!stopped) await feature.stop();
    },
  );
}

t.test("a NodeImage that went while nobody looked is forgotten with the first list", async (t) => {
  const folder = await temporaryFolder(t);
  const context = testContext(
    t,
    { client: fakeServer({ streamingLists: false }).client, clock: testClock() },
    folder,
  );
  context.state.write("node_image", { name: "node-1", spec: {} });
  await context.state.flush();
  const feature = await startImages(context, keyring);
  await feature.synced;
  await feature.stop();
  await context.state.flush();
  t.same(await context.state.read("node_image"), {});
});
