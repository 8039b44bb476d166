import t from "tap";
import { allowed } from "./admission/request.ts";
import { handlersByPath } from "./start_admission.ts";

t.test("handlers by path: those of earlier releases, too, and none that the gates leave out", async (t) => {
  const answer = () => allowed;
  const handlers = handlersByPath(
    [
      {
        path: "/mutate",
        earlierPaths: ["/mutate-v1alpha1"],
        handler: (deps: { gate: boolean }) => (deps.gate ? answer : undefined),
      },
      { path: "/validate", earlierPaths: [], handler: (deps) => (deps.gate ? undefined : answer) },
    ],
    { gate: true },
  );
  t.strictSame(
    [...handlers],
    [
      ["/mutate", answer],
      ["/mutate-v1alpha1", answer],
    ],
  );
});
