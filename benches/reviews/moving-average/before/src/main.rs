mod stats;

fn main() {
    let values: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    println!("mean {:.2}", stats::mean(&values));
}
