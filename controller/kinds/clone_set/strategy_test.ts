import t from "tap";
import { excludePreparingDeleteLabel } from "../../../crds/index.ts";
import { defaultOptions } from "../../../testkit/controller/clone_set_model.ts";
import { cloneSetStrategyOf } from "./strategy.ts";

t.test(
  "pods held before deletion are excluded by the field, by the label in either version, or for all",
  async (t) => {
    const excludes = (labels: Record<string, string>, excludePreparingDelete?: boolean, everywhere = false) =>
      cloneSetStrategyOf(
        {
          metadata: { name: "web", namespace: "d", uid: "u", labels },
          spec: {
            selector: {},
            template: { spec: { containers: [] } },
            scaleStrategy: { ...(excludePreparingDelete === undefined ? {} : { excludePreparingDelete }) },
          },
        },
        { ...defaultOptions, excludePreparingDelete: everywhere },
      ).excludePreparingDelete;
    t.notOk(excludes({}));
    t.ok(excludes({}, true));
    t.ok(excludes({ [excludePreparingDeleteLabel]: "true" }));
    t.notOk(excludes({ [excludePreparingDeleteLabel]: "false" }));
    t.ok(excludes({}, false, true));
  },
);
