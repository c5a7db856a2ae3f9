// Calls of the server. A call that fails throws a Problem with one sentence for the person.

export class Problem extends Error {
  constructor(words, status) {
    super(words);
    this.status = status;
  }
}

/** Names this window, so that others can be told what it did. */
export const WINDOW = (sessionStorage.window ??= Math.random().toString(36).slice(2, 10));

async function call(method, path, body, type = "application/json") {
  let answer;
  try {
    const sent = type === "application/json" && body !== undefined ? JSON.stringify(body) : body;
    answer = await fetch(path, { method, body: sent, headers: body === undefined ? {} : { "content-type": type } });
  } catch {
    throw new Problem("The server cannot be reached.", 0);
  }
  if (answer.ok) return answer;
  const said = await answer.text();
  let words = said;
  try {
    words = JSON.parse(said).problem ?? said;
  } catch { /* it is plain text */ }
  throw new Problem(words || `The server answers ${answer.status}.`, answer.status);
}

const asked = (values) => {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return given.length ? "?" + new URLSearchParams(given) : "";
};

export const get = async (path, values = {}) => (await call("GET", path + asked(values))).json();
export const post = async (path, body = {}) => (await call("POST", path, body)).json();
export const put = async (path, body) => (await call("PUT", path, body)).json();
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
