//! Compares a linked file, whoever linked it, with its inputs: `verify sm_90 linked.cubin a.cubin b.cubin`.

use culd_engine::{Arch, Identity, Input, LinkOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, image, inputs @ ..] = arguments.as_slice() else {
        return Err("usage: verify TARGET LINKED INPUT..".into());
    };
    let mut options = LinkOptions::new(Arch::parse(target).ok_or("no such target")?);
    options.identity = Identity::Nvlink;
    let image = std::fs::read(image)?;
    options.relocatable = image.get(16) == Some(&1);
    let files: Vec<Vec<u8>> = inputs.iter().map(std::fs::read).collect::<Result<_, _>>()?;
    let inputs: Vec<Input<'_>> = inputs.iter().zip(&files).map(|(name, data)| Input { name, data }).collect();
    let problems = culd_engine::verify::check(&image, &inputs, &options);
    for problem in &problems {
        println!("{:?}: {}", problem.check, problem.text);
    }
    match problems.len() {
        0 => Ok(()),
        n => Err(format!("{n} problems").into()),
    }
}
