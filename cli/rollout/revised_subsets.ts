/** What revisions of a UnitedDeployment hold: the workload's template. Loaded when needed: it brings the schemas of all kinds. */
import { unitedRevisionLabel } from "../../controller/index.ts";
import { revisedSubsetTemplate, subsetTemplatesOf, unitedDeployment } from "../../crds/index.ts";
import { at, fieldsAt } from "../fields.ts";
import { imagesOf, type Revised, revisedTemplate } from "./revised.ts";
import { podTemplateText } from "./template_text.ts";
import { updatedRevisionOf } from "./united_deployment.ts";

export const revisedSubsets: Revised = {
  ...revisedTemplate,
  now: (object) => {
    const read = unitedDeployment.readStored(object);
    if (!("object" in read) || read.object.spec === undefined) return {};
    const data: unknown = JSON.parse(revisedSubsetTemplate.data(read.object.spec.template));
    return revisedTemplate.of(fieldsAt(data, "spec")) ?? {};
  },
  text: (spec) =>
    subsetTemplatesOf(spec)
      .map(({ name, template }) => `${name}:\n${podTemplateText(fieldsAt(template, "spec", "template"))}`)
      .join(""),
  images: (spec) =>
    subsetTemplatesOf(spec).flatMap(({ template }) => imagesOf(at(template, "spec", "template", "spec"))),
  // Those of some kinds of workload carry no labels but the hash.
  selector: () => ({}),
  isUpdated: ({ metadata }, object) =>
    (metadata.labels?.[unitedRevisionLabel] ?? "") === updatedRevisionOf(object),
};
