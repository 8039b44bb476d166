import t from "tap";
import { temporaryFolder, testContext } from "../../testkit/agent/context_fixture.ts";
import { fakeServer } from "../../testkit/kube/fake_server.ts";
import { startRestarts } from "./feature.ts";

t.test("what was stopped for requests that are gone is forgotten once all have been listed", async (t) => {
  const context = testContext(
    t,
    { client: fakeServer({ streamingLists: false }).client },
    await temporaryFolder(t),
  );
  context.state.write("restarts", { "gone-1": { app: "c1" } });
  await context.state.flush();
  const feature = await startRestarts(context);
  t.teardown(() => feature.stop());
  await feature.synced;
  await context.state.flush();
  t.same(await context.state.read("restarts"), {});
});
