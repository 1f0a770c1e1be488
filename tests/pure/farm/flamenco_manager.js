// Compiles a job as Flamenco Manager does, by the calls that its documentation and its `author` module have:
// node flamenco_manager.js SCRIPT SETTINGS. Prints the job type and the tasks as JSON.
const { readFileSync } = require("fs");
const { createContext, runInContext } = require("vm");

const [script, given] = process.argv.slice(2);
const author = {
    Command: (name, parameters) => ({ name, parameters }),
    Task: (name, type) => {
        const task = { name, type, commands: [] };
        return { task, addCommand: (command) => task.commands.push(command) };
    },
};
const tasks = [];
const context = createContext({ author, job: null });
runInContext(readFileSync(script, "utf8") + "\nthis.type = JOB_TYPE;", context);
const settings = JSON.parse(given);
for (const { key, required, default: usual } of context.type.settings) {
    if (required && !(key in settings)) throw new Error(`missing ${key}`);
    settings[key] ??= usual;
}
context.job = { settings, addTask: ({ task }) => tasks.push(task) };
runInContext("compileJob(job)", context);
console.log(JSON.stringify({ type: context.type, tasks }));
