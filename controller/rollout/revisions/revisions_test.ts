import t from "tap";
import { revisedPodTemplate as part } from "../../../crds/index.ts";
import { findRevision } from "./revisions.ts";

const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "main", image: "a:1" }] },
};
const other = { ...template, spec: { containers: [{ name: "main", image: "a:2" }] } };

t.test(
  "a name that is held elsewhere does for us when its data is equal, and counts as a collision when not",
  async (t) => {
    const free = findRevision("web", { data: part.data(template), part }, [], 0);
    t.match(free, { write: "create", collisionCount: 0 });
    const shared = findRevision("web", { data: part.data(template), part }, [], 0, () => part.data(template));
    t.match(shared, {
      write: "none",
      collisionCount: 0,
      update: { name: free.update.name, stored: undefined },
    });
    const held = (name: string) => (name === free.update.name ? part.data(other) : undefined);
    const moved = findRevision("web", { data: part.data(template), part }, [], 0, held);
    t.match(moved, { write: "create", collisionCount: 1 });
    t.not(moved.update.name, free.update.name);
  },
);
