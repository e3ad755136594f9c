// The TypeScript client: `typescript_client.mjs <package folder> <mode> <url>`, or a command and its words.

import { pathToFileURL } from "node:url";

const [folder, mode, ...words] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/dist/${name}.mjs`).href);
const { Client, StreamableHTTPClientTransport } = await load("index");
const { StdioClientTransport } = await load("stdio");

const SECONDS = 10_000;

function transport() {
  if (words[0].startsWith("http")) return new StreamableHTTPClientTransport(new URL(words[0]));
  return new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env });
}

function signal() {
  let fire;
  const fired = new Promise((resolve, reject) => {
    const clock = setTimeout(() => reject(new Error("nothing was heard in time")), SECONDS);
    fire = () => (clearTimeout(clock), resolve());
  });
  fired.catch(() => {});
  return { fire, fired };
}

const logs = [];
const changed = signal();
const updated = signal();
const client = new Client(
  { name: "typescript", version: "1" },
  {
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    versionNegotiation: { mode },
    listChanged: { tools: { onChanged: () => changed.fire() } },
  },
);
client.setRequestHandler("elicitation/create", async ({ params }) => ({
  action: "accept",
  content: params.message === "Which floor, Ada?" ? { floor: 3 } : { name: "Ada", age: 36 },
}));
client.setRequestHandler("sampling/createMessage", async ({ params }) => {
  const [block] = [params.messages[0].content].flat();
  const text = `${params.systemPrompt ?? "hm"}! ${block.text}`;
  return { role: "assistant", model: "parrot", content: { type: "text", text } };
});
client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///tmp/place" }] }));
client.setNotificationHandler("notifications/message", ({ params }) => {
  logs.push([params.level, params.logger, params.data]);
});
client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
  if (params.uri === "note://one") updated.fire();
});

const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, options);
const text = ({ content, isError }) => (isError ? `failed: ${content[0].text}` : content[0].text);

async function failed(name, args) {
  const result = await call(name, args);
  return result.isError ? result.content[0].text : result;
}

async function code(request) {
  try {
    return await request;
  } catch (error) {
    return error.code ?? String(error);
  }
}

async function calls() {
  const progress = [];
  const onprogress = (one) => progress.push([one.progress, one.total, one.message]);
  const { tools } = await client.listTools();
  return {
    tools: tools.map((tool) => tool.name),
    add_schema: tools.find((tool) => tool.name === "add").inputSchema,
    add: (await call("add", { a: 40 })).structuredContent,
    report: (await call("report", { title: "sales" })).structuredContent,
    picture: (await call("picture")).content.map((block) => block.type),
    count: (await call("count", { to: 3 }, { onprogress })).structuredContent,
    progress,
  };
}

async function failures() {
  return {
    bad_arguments: await failed("add", { a: "many" }),
    refuse: await failed("refuse"),
    crash: await failed("crash"),
    unknown_tool: await code(call("no_such_tool")),
    unknown_resource: await code(client.readResource({ uri: "toy://nothing" })),
    missing_note: await code(client.readResource({ uri: "note://nothing" })),
    unknown_prompt: await code(client.getPrompt({ name: "no_such_prompt" })),
    missing_argument: await code(client.getPrompt({ name: "letter", arguments: {} })),
  };
}

async function reading() {
  const read = async (uri) => (await client.readResource({ uri })).contents[0];
  const letter = await client.getPrompt({ name: "letter", arguments: { to: "Ada" } });
  const complete = async (ref, name, value) =>
    (await client.complete({ ref, argument: { name, value } })).completion.values;
  return {
    resources: (await client.listResources()).resources.map((one) => one.uri),
    templates: (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate),
    read: [
      (await read("toy://greeting")).text,
      [...Buffer.from((await read("bytes://few")).blob, "base64")],
      (await read("note://one")).text,
    ],
    prompts: (await client.listPrompts()).prompts.map((one) => one.name),
    letter: letter.messages.map((one) => [one.role, one.content.text]),
    completions: [
      await complete({ type: "ref/prompt", name: "letter" }, "tone", "k"),
      await complete({ type: "ref/resource", uri: "note://{name}" }, "name", "o"),
    ],
  };
}

async function questions() {
  return {
    introduce: text(await call("introduce")),
    check_in: text(await call("check_in")),
    opinion: text(await call("opinion", { topic: "tea" })),
    places: (await call("places")).structuredContent,
    everything: text(await call("everything_at_once", { topic: "tea" })),
  };
}

async function news() {
  // Since 2026-07-28 each request says what it wants to hear.
  const wants = { "io.modelcontextprotocol/logLevel": "warning" };
  const legacy = client.getProtocolEra() === "legacy";
  if (legacy) {
    await client.setLoggingLevel("warning");
    await client.subscribeResource({ uri: "note://one" });
  }
  const stream = legacy ? undefined : await client.listen({ resourceSubscriptions: ["note://one"] });
  await client.callTool({ name: "chatter", arguments: {}, _meta: legacy ? {} : wants });
  await call("learn", { name: "fly" });
  await call("write_note", { name: "one", text: "changed" });
  await Promise.all([changed.fired, updated.fired]);
  await stream?.close();
  return { logs, learned: text(await call("fly")) };
}

async function givingUp() {
  const abort = new AbortController();
  const begun = { onprogress: () => abort.abort("enough"), signal: abort.signal };
  await call("wait", {}, begun).catch(() => {});
  return { was_cancelled: (await call("was_cancelled")).structuredContent };
}

await client.connect(transport());
const { name, version } = client.getServerVersion();
const report = {
  protocol: client.getNegotiatedProtocolVersion(),
  server: [name, version, client.getInstructions()],
  ...(await calls()),
  ...(await failures()),
  ...(await reading()),
  ...(await questions()),
  ...(await news()),
  ...(await givingUp()),
};
await client.close();
process.stdout.write(JSON.stringify(report));
