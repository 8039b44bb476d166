import t from "tap";
import { verifiesCredentials } from "./image_access.ts";

t.test("kubelets that look at a pod's credentials for an image on the node", async (t) => {
  for (const version of ["v1.33.0", "v1.34.4", "v1.34.1+k3s1", "1.33.2-eks-1"])
    t.notOk(verifiesCredentials(version), version);
  for (const version of ["v1.35.0", "v1.36.1-rc.0", "v2.0.0", "v1.3x", "", undefined])
    t.ok(verifiesCredentials(version), version ?? "none");
});
