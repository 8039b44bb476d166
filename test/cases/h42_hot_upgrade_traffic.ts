/** Twenty hot upgrades in a row. */
import { underTraffic } from "./hot_upgrade_traffic.ts";
import type { Suite } from "./suite.ts";

const upgradesInARow = 20;

export const suite: Suite = {
  number: "h42",
  title: "SidecarSet: no request fails during hot upgrades",
  needs: ["real-node"],
  versions: ["v1beta1"],
  run: (world) =>
    underTraffic(world, {}, (upgrades) =>
      world.step(`${upgradesInARow} upgrades in a row`, async () => {
        while (upgrades.count < upgradesInARow) {
          await upgrades.begin();
          await upgrades.end();
        }
      }),
    ),
};
