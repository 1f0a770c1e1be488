// SPDX-License-Identifier: GPL-3.0-or-later
//
// Job type of Flamenco 3: lends Flamenco's workers to a run of `knuckle farm --scheduler`.
// Copy this file into the folder `scripts` beside flamenco-manager. See docs/how-to/farm.md.

const JOB_TYPE = {
    label: "Knuckle Workers",
    description: "Solve takes for a run of knuckle farm, until its scheduler ends",
    settings: [
        { key: "scheduler", type: "string", required: true,
          description: "Address that dask scheduler printed, such as tcp://10.0.0.5:8786" },
        { key: "machines", type: "int32", default: 1, propargs: { min: 1 },
          description: "Flamenco workers to use" },
        { key: "processes", type: "string", default: "auto",
          description: "Processes on each machine, of one thread each; auto is one for each core" },
        { key: "memory", type: "string", default: "auto",
          description: "Memory of each process, beyond which it is renewed, such as 4GB; auto shares the machine's" },
        { key: "python", type: "string", default: "{knucklePython}",
          description: "Python that has knuckle[farm]: by default Flamenco's variable knucklePython" },
        { key: "patience", type: "int32", default: 60, propargs: { min: 1 },
          description: "Seconds without a scheduler after which a worker ends" },
    ],
};

function compileJob(job) {
    const settings = job.settings;
    for (let machine = 1; machine <= settings.machines; machine++) {
        const task = author.Task("workers-" + machine, "misc");
        task.addCommand(author.Command("exec", {
            exe: settings.python,
            args: [
                "-m", "distributed.cli.dask_worker", settings.scheduler,
                // Blender's module bears no second thread.
                "--nthreads", "1",
                "--nworkers", settings.processes,
                "--memory-limit", settings.memory,
                "--death-timeout", String(settings.patience),
            ],
        }));
        job.addTask(task);
    }
}
