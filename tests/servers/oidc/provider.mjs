// An OpenID provider on loopback for tests: node provider.mjs. It prints its URL, and ends when its standard input does.
// POST /test/clients, /test/people and /test/rotate change it, as its administrator would.
import crypto from "node:crypto";
import http from "node:http";
import { Provider } from "oidc-provider";

const API = "transfer:read transfer:plan transfer:run";
const people = new Map();
const records = new Map();
const counts = { keys: 0, discovery: 0 };

// One store for every Provider object, so that sessions outlive a change of keys.
class Store {
  constructor(name) { this.name = name; }
  key(id) { return `${this.name}:${id}`; }
  async upsert(id, payload, ttl) { records.set(this.key(id), { payload: { ...payload }, until: ttl ? Date.now() + ttl * 1000 : Infinity }); }
  async find(id) { const found = records.get(this.key(id)); return found && found.until > Date.now() ? found.payload : undefined; }
  async by(field, value) {
    for (const [key, { payload, until }] of records) if (key.startsWith(`${this.name}:`) && payload[field] === value && until > Date.now()) return payload;
  }
  findByUid(value) { return this.by("uid", value); }
  findByUserCode(value) { return this.by("userCode", value); }
  async consume(id) { const found = await this.find(id); if (found) found.consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { records.delete(this.key(id)); }
  async revokeByGrantId(grant) { for (const [key, { payload }] of records) if (payload.grantId === grant) records.delete(key); }
}

let made = 0;
const newKey = () => ({
  ...crypto.generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
  kid: `key-${++made}`, alg: "RS256", use: "sig",
});
const cookies = [crypto.randomBytes(24).toString("hex")];

function makeProvider(issuer, keys) {
  const provider = new Provider(issuer, {
    adapter: Store,
    // The provider refuses to call special-use addresses; here every service is on loopback.
    fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
    jwks: { keys },
    cookies: { keys: cookies },
    scopes: ["openid", "offline_access", "profile", "email", "groups", "roles", ...API.split(" ")],
    claims: { openid: ["sub", "amr", "auth_time", "acr"], profile: ["name"], email: ["email"], groups: ["groups"], roles: ["realm_access"] },
    conformIdTokenClaims: false, // claims are in the ID token
    pkce: { required: () => true },
    clientDefaults: { id_token_signed_response_alg: "RS256" },
    features: {
      devInteractions: { enabled: false },
      deviceFlow: {
        enabled: true,
        userCodeInputSource: (context, form) => { context.body = `<!doctype html><title>Code</title>${form}<button form="op.deviceInputForm">Check</button>`; },
        userCodeConfirmSource: (context, form, client, device, code) => { context.body = `<!doctype html><title>Code</title><p>${code}</p>${form}<button form="op.deviceConfirmForm">It is mine</button>`; },
        successSource: (context) => { context.body = "<!doctype html><title>Done</title><p>Signed in on the other device</p>"; },
      },
      clientCredentials: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (context, form) => { context.body = `<!doctype html><title>Corporate sign-out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Sign out here, too</button>`; },
      },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (context, resource) => ({ scope: API, audience: resource, accessTokenFormat: "jwt", accessTokenTTL: 300, jwt: { sign: { alg: "RS256" } } }),
      },
    },
    findAccount: (context, id) => people.has(id) ? { accountId: id, claims: () => ({ sub: id, ...people.get(id).claims }) } : undefined,
    interactions: { url: (context, interaction) => `/interaction/${interaction.uid}` },
    issueRefreshToken: (context, client) => client.grantTypeAllowed("refresh_token"),
  });
  for (const event of ["server_error", "backchannel.error"]) provider.on(event, (context, error) => console.error(event, error));
  return provider;
}

const read = async (request) => { let text = ""; for await (const part of request) text += part; return text; };
const page = (response, html) => { response.setHeader("content-type", "text/html; charset=utf-8"); response.end(`<!doctype html><title>Corporate sign-in</title>${html}`); };
const form = (uid, said = "") => `${said}<form method="post" action="/interaction/${uid}/login"><label>User <input name="user"></label>
<label>Secret <input name="secret" type="password"></label><button>Continue</button></form>`;

async function interact(request, response, uid) {
  const details = await provider.interactionDetails(request, response);
  if (details.prompt.name === "login") {
    if (request.method !== "POST") return page(response, form(uid));
    const given = Object.fromEntries(new URLSearchParams(await read(request)));
    const person = people.get(given.user);
    if (person?.secret !== given.secret) return page(response, form(uid, '<p role="alert">Wrong</p>'));
    return provider.interactionFinished(request, response, { login: { accountId: given.user, amr: ["pwd", "otp"], acr: person.acr, ts: person.signed_in_at ?? undefined } }, { mergeWithLastSubmission: false });
  }
  // Consent: everything that is asked for is given.
  const grant = details.grantId ? await provider.Grant.find(details.grantId) : new provider.Grant({ accountId: details.session.accountId, clientId: details.params.client_id });
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = details.prompt.details;
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
  if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) grant.addResourceScope(resource, scopes.join(" "));
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
}

let keys = [newKey()];
let provider, answer;
const administrate = {
  async clients(client) { await new Store("Client").upsert(client.client_id, client); },
  async people({ id, ...person }) { if (person.secret) people.set(id, person); else people.delete(id); },
  async rotate({ drop }) { keys = drop ? [newKey()] : [newKey(), ...keys]; provider = makeProvider(issuer, keys); answer = provider.callback(); },
  async counts() { return counts; },
};

let issuer;
const server = http.createServer(async (request, response) => {
  try {
    const url = new URL(request.url, issuer);
    const test = url.pathname.match(/^\/test\/(\w+)$/);
    if (test) return response.end(JSON.stringify((await administrate[test[1]](JSON.parse(await read(request) || "{}"))) ?? null));
    const interaction = url.pathname.match(/^\/interaction\/([\w-]+)/);
    if (interaction) return await interact(request, response, interaction[1]);
    if (url.pathname === "/jwks") counts.keys += 1;
    if (url.pathname.startsWith("/.well-known/")) counts.discovery += 1;
    return answer(request, response);
  } catch (error) {
    response.statusCode = 500;
    response.end(String(error.stack));
  }
});
server.listen(0, "127.0.0.1", () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  provider = makeProvider(issuer, keys);
  answer = provider.callback();
  console.log(issuer);
});
process.stdin.on("end", () => process.exit(0)).resume();
