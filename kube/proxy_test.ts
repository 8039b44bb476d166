import t from "tap";
import { proxyFor } from "./proxy.ts";

t.test("which proxy leads where", async (t) => {
  const env = {
    HTTPS_PROXY: "http://proxy:3128",
    http_proxy: "other:80",
    NO_PROXY: "10.0.0.0/8, .svc,example.org:443, kube.local,*.wild.net,fd00::/8",
  };
  const through = (url: string): string | undefined => proxyFor(new URL(url), env);
  t.equal(through("https://api.cloud.com:6443"), "http://proxy:3128");
  t.equal(through("http://api.cloud.com"), "http://other:80");
  for (const direct of [
    "https://10.1.2.3:6443",
    "https://kubernetes.default.svc",
    "https://example.org",
    "https://a.kube.local:6443",
    "https://x.wild.net",
    "https://127.0.0.1:6443",
    "https://localhost",
    "https://[::1]:6443",
    "https://[fd00::5]:6443",
  ]) {
    t.equal(through(direct), undefined, direct);
  }
  t.equal(through("https://example.org:6443"), "http://proxy:3128", "another port");
  t.equal(through("https://11.1.2.3"), "http://proxy:3128");
  t.equal(through("https://notkube.local"), "http://proxy:3128");
  t.equal(proxyFor(new URL("https://a.b"), {}), undefined);
  t.equal(proxyFor(new URL("https://a.b"), { HTTPS_PROXY: "http://p", NO_PROXY: "*" }), undefined);
});
