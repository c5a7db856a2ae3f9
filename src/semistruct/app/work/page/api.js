// Calls of the server. A call that fails throws a Problem with one sentence for the person.

/** What went wrong. It is a refusal if the workbench itself says that it will never take this: anything else may pass. */
export class Problem extends Error {
  constructor(words, status, answer = null) {
    super(words);
    this.status = status;
    this.answer = answer;
    this.refused = status >= 400 && status < 500 && answer !== null;
  }
}

/** The token of the address that was opened, or the last one that was good here. */
const address = new URL(location.href);
const token = address.searchParams.get("token") ?? localStorage.token ?? "";
address.searchParams.delete("token");
history.replaceState(null, "", address);

/** Names this window, so that others can be told what it did. */
export const WINDOW = (sessionStorage.window ??= Math.random().toString(36).slice(2, 10));

async function call(method, path, body, type = "application/json") {
  let answer;
  try {
    const sent = type === "application/json" && body !== undefined ? JSON.stringify(body) : body;
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": type }) };
    answer = await fetch(path, { method, body: sent, headers });
  } catch {
    throw new Problem("The server cannot be reached.", 0);
  }
  if (answer.ok) {
    if (localStorage.token !== token) localStorage.token = token;
    return answer;
  }
  const said = await answer.text().catch(() => "");
  let found = null;
  try {
    found = JSON.parse(said);
  } catch { /* it is plain text */ }
  const own = typeof found?.problem === "string";
  throw new Problem(own ? found.problem : said.slice(0, 300) || `The server answers ${answer.status}.`, answer.status, own ? found : null);
}

/** What an answer says; anything but JSON comes from another server. */
async function read(answer) {
  try {
    return await answer.json();
  } catch {
    throw new Problem("The server cannot be reached: another program answers in its place.", 0);
  }
}

const asked = (values) => {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return given.length ? "?" + new URLSearchParams(given) : "";
};

export const get = async (path, values = {}) => read(await call("GET", path + asked(values)));
export const post = async (path, body = {}) => read(await call("POST", path, body));
export const put = async (path, body) => read(await call("PUT", path, body));
export const send = async (path, values, file) => call("POST", path + asked(values), file, "application/octet-stream");

/** Have the browser save what an address gives. */
export async function save(path, values = {}) {
  keep(await call("GET", path + asked(values)));
}

export async function keep(answer) {
  const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? "download";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  return name;
}
