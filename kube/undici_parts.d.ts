/** undici's parts by file: its index also loads fetch, WebSocket, caches and mocks (10 MB that nobody here uses). */
declare module "undici/lib/dispatcher/pool.js" {
  import type { Pool } from "undici";

  const PoolClass: typeof Pool;
  export default PoolClass;
}
declare module "undici/lib/dispatcher/proxy-agent.js" {
  import type { ProxyAgent } from "undici";

  const ProxyAgentClass: typeof ProxyAgent;
  export default ProxyAgentClass;
}
declare module "undici/lib/dispatcher/socks5-proxy-agent.js" {
  import type { Socks5ProxyAgent } from "undici";

  const Socks5ProxyAgentClass: typeof Socks5ProxyAgent;
  export default Socks5ProxyAgentClass;
}
